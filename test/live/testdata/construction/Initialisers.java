package construction;

import harness.Tally;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;

/** Loads classes afresh in each round, so that their static initialisers run in each. */
public final class Initialisers {
    static final int STEP = Tally.exact(Initialisers.class, "calledFromInitialiser", 2, 0);

    private Initialisers() {
    }

    /** Is called while a class is being initialised. */
    public static long calledFromInitialiser() {
        Tally.in(STEP);
        return 21;
    }

    static long work() throws Exception {
        URL[] classes = {Path.of(System.getProperty("live.fresh")).toUri().toURL()};
        long sum = 0;
        try (URLClassLoader loader = new URLClassLoader(classes, Initialisers.class.getClassLoader())) {
            Class<?> sound = Class.forName("construction.fresh.Sound", true, loader);
            sum += sound.getField("VALUE").getLong(null);
            for (int i = 0; i < 3; i++) {
                try {
                    loader.loadClass("construction.fresh.Failing").getMethod("touch").invoke(null);
                } catch (ExceptionInInitializerError e) {
                    sum += e.getCause().getMessage().length();
                } catch (NoClassDefFoundError e) {
                    sum += 1;
                } catch (java.lang.reflect.InvocationTargetException e) {
                    sum += 1000;
                }
            }
        }
        return sum;
    }
}
