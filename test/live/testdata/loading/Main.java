package loading;

import harness.Distant;
import harness.Tally;
import harness.Workload;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Classes that are loaded while the program runs, by loaders of three temperaments, which a round
 * leaves to the collector. Commands of its own: keep loads one of each and holds it, again runs
 * what is kept as a round would, drop lets it go.
 */
public final class Main implements Workload {
    static {
        for (String name : List.of("Delegated", "Isolated", "Confined")) {
            String type = "loading/fresh/" + name + ".";
            // Each class runs its methods ten times a round; every fifth step fails.
            Distant.register(type + "<clinit>()V", Tally.Trust.EXACT, 1, 0);
            Distant.register(type + "<init>()V", Tally.Trust.EXACT, 1, 0);
            Distant.register(type + "work(I)J", Tally.Trust.EXACT, 1, 0);
            Distant.register(type + "step(I)J", Tally.Trust.EXACT, 10, 2);
        }
    }

    private static final List<Object> KEPT = new ArrayList<>();

    @Override
    public long round() throws Exception {
        return runAll(makeAll());
    }

    @Override
    public boolean command(String[] words, PrintStream out) throws Exception {
        switch (words[0]) {
            case "keep" -> KEPT.addAll(makeAll());
            case "again" -> runAll(KEPT);
            case "drop" -> KEPT.clear();
            default -> {
                return false;
            }
        }
        out.println("done");
        return true;
    }

    private static List<Object> makeAll() throws Exception {
        Path classes = Path.of(System.getProperty("live.fresh"));
        return List.of(make(new Delegating(classes), "Delegated"), make(new Isolating(classes), "Isolated"),
                make(new Confining(classes), "Confined"));
    }

    private static long runAll(List<Object> objects) throws Exception {
        long sum = 0;
        for (Object object : objects) {
            Method work = object.getClass().getMethod("work", int.class);
            sum = sum * 31 + (Long) work.invoke(object, 10);
        }
        return sum;
    }

    private static Object make(FileLoader loader, String name) throws Exception {
        Class<?> type = loader.loadClass("loading.fresh." + name);
        if (type.getClassLoader() != loader) {
            throw new IllegalStateException(name + " came from " + type.getClassLoader());
        }
        return type.getConstructor().newInstance();
    }
}
