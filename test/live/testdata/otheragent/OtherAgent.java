package otheragent;

import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.List;

/**
 * An agent of somebody else, which changes constants of chosen classes. Its argument is a list of
 * orders, separated by ';' and done in turn:
 *
 * <pre>
 * change CLASS FROM TO            from now on, by a transformer that takes part in retransformation
 * change-once CLASS FROM TO       the same by one that does not: it sees loading and redefinition only
 * retransform CLASS               now
 * forget                          takes its transformers out again; changes nothing by itself
 * </pre>
 *
 * CLASS is a name with dots; FROM and TO are texts, or whole numbers. What cannot be done throws, by
 * which a late attach fails.
 */
public final class OtherAgent {
    // What an earlier load of this agent set up: the JVM gives each load its own Instrumentation.
    private static final List<Registration> REGISTERED = new ArrayList<>();

    private record Registration(Instrumentation by, ConstantChanger changer) {
    }

    private OtherAgent() {
    }

    /** Is called at start. */
    public static void premain(String orders, Instrumentation instrumentation) throws Exception {
        obey(orders, instrumentation);
    }

    /** Is called at each late attach. */
    public static void agentmain(String orders, Instrumentation instrumentation) throws Exception {
        obey(orders, instrumentation);
    }

    private static synchronized void obey(String orders, Instrumentation instrumentation) throws Exception {
        for (String order : orders.split(";")) {
            String[] words = order.trim().split(" ");
            switch (words[0]) {
                case "change", "change-once" -> {
                    ConstantChanger changer = new ConstantChanger(words[1], words[2], words[3]);
                    instrumentation.addTransformer(changer, words[0].equals("change"));
                    REGISTERED.add(new Registration(instrumentation, changer));
                }
                case "retransform" -> retransform(words[1], instrumentation);
                case "forget" -> {
                    REGISTERED.forEach(r -> r.by.removeTransformer(r.changer));
                    REGISTERED.clear();
                }
                default -> throw new IllegalArgumentException("no order " + order);
            }
        }
    }

    private static void retransform(String name, Instrumentation instrumentation) throws Exception {
        boolean found = false;
        for (Class<?> type : instrumentation.getAllLoadedClasses()) {
            if (type.getName().equals(name)) {
                instrumentation.retransformClasses(type);
                found = true;
            }
        }
        if (!found) {
            throw new ClassNotFoundException(name + " is not loaded");
        }
    }
}
