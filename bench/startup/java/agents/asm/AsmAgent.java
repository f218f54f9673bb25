import java.io.BufferedReader;
import java.io.FileReader;
import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import startup.AsmHooks;

/**
 * Weaves classes by ASM as they load. Its argument is a file with a line for each class that is to be woven: the
 * internal name, how many methods are to be, and their names where not all are. Classes not named there cost it a lookup.
 */
public final class AsmAgent implements ClassFileTransformer {
    private final Map<String, Wanted> wanted;
    private final AtomicInteger classes = new AtomicInteger();
    private final AtomicInteger methods = new AtomicInteger();

    private AsmAgent(Map<String, Wanted> wanted) {
        this.wanted = wanted;
    }

    /** What is to be woven of a class. */
    private static final class Wanted {
        final int firstId;
        final Set<String> names; // null: all

        Wanted(int firstId, Set<String> names) {
            this.firstId = firstId;
            this.names = names;
        }
    }

    public static void premain(String argument, Instrumentation instrumentation) throws IOException {
        Map<String, Wanted> wanted = new HashMap<>();
        int next = 0;
        try (BufferedReader lines = new BufferedReader(new FileReader(argument))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] words = line.split(" ");
                Set<String> names = words.length > 2 ? new HashSet<>(Arrays.asList(words).subList(2, words.length)) : null;
                wanted.put(words[0], new Wanted(next, names));
                next += Integer.parseInt(words[1]);
            }
        }
        AsmHooks.prepare(next);
        AsmAgent agent = new AsmAgent(wanted);
        instrumentation.addTransformer(agent);
        Runtime.getRuntime().addShutdownHook(new Thread() {
            @Override
            public void run() {
                System.err.println("asm-agent " + agent.classes + " " + agent.methods + " " + AsmHooks.total());
            }
        });
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] file) {
        Wanted one = name == null ? null : wanted.get(name);
        if (one == null) {
            return null;
        }
        try {
            Weave weave = new Weave(one.firstId, one.names);
            byte[] woven = weave.apply(file);
            classes.incrementAndGet();
            methods.addAndGet(weave.methods());
            return woven;
        } catch (Throwable t) { // the JVM would keep silent about it
            System.err.println("asm-agent failed: " + name + ": " + t);
            return null;
        }
    }
}
