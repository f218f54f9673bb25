package sonde.agent.control;

import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.List;

/** Takes every hook out and lets the arena go. */
class Restoration {
    /** How often, and how far apart, is looked for classes that were woven while they were being loaded. */
    private static final int LOOKS = 20;
    private static final long LOOK_MILLIS = 100;

    private final Instrumentation instrumentation;
    private final Weaves weaving;
    private final Arena arena;

    final List<String> remarks = new ArrayList<String>();
    int restored;
    boolean unmapped = true;
    long nanos;

    Restoration(Instrumentation instrumentation, Weaves weaving, Arena arena) {
        this.instrumentation = instrumentation;
        this.weaving = weaving;
        this.arena = arena;
    }

    /** The order is what makes it safe: hooks inert, classes back, with that a safepoint, and only then unmapped. */
    void run() {
        Hooks hooks = arena.hooks();
        weaving.beginRestoring();
        if (hooks != null) {
            hooks.off();
        }
        boolean safepoint = putBack();
        weaving.unregister(instrumentation);
        if (hooks == null) {
            return;
        }
        arena.set(null);
        // Where no class was put back, one of the agent's own makes the safepoint.
        unmapped = (safepoint || retransform(Kind.class)) && hooks.retire();
        if (!unmapped) {
            remarks.add("the arena stays mapped: a thread did not leave its hook in time");
        }
    }

    /** Retransforms the classes with hooks; true where at least one went through. */
    private boolean putBack() {
        int unseen = look();
        List<Class<?>> alive = weaving.alive();
        if (unseen > 0) {
            remarks.add(unseen + " classes that were woven while they were being loaded were never seen after");
        }
        long start = System.nanoTime();
        int most = mostAtOnce();
        for (int from = 0; from < alive.size(); from += most) {
            progress(from, alive.size());
            putBack(alive.subList(from, Math.min(alive.size(), from + most)));
        }
        nanos = System.nanoTime() - start;
        return restored > 0;
    }

    /** Called before each batch, for whoever waits for the end. */
    void progress(int done, int all) {}

    /** Before 15 each class of a batch has the JVM look through all that is loaded, with the program stopped. */
    private static int mostAtOnce() {
        String version = System.getProperty("java.specification.version", "");
        return version.startsWith("1.") || version.length() == 1 || version.compareTo("15") < 0 ? 25 : 1000;
    }

    /** Puts classes back all at once; where the JVM refuses one of them, by halves, so that few pauses are made. */
    private void putBack(List<Class<?>> classes) {
        if (classes.isEmpty()) {
            return;
        }
        if (retransform(classes.toArray(new Class<?>[0]))) {
            restored += classes.size();
        } else if (classes.size() > 1) {
            int half = classes.size() / 2;
            putBack(classes.subList(0, half));
            putBack(classes.subList(half, classes.size()));
        }
    }

    /** A class whose bytes were given out may not be there yet; one that failed to load never will be. */
    private int look() {
        int unseen = weaving.recognise(instrumentation.getAllLoadedClasses());
        for (int i = 0; unseen > 0 && i < LOOKS; i++) {
            Deadline pause = new Deadline(LOOK_MILLIS);
            synchronized (this) {
                while (!pause.over()) {
                    pause.await(this);
                }
            }
            unseen = weaving.recognise(instrumentation.getAllLoadedClasses());
        }
        return unseen;
    }

    private boolean retransform(Class<?>... classes) {
        try {
            instrumentation.retransformClasses(classes);
            return true;
        } catch (Throwable t) {
            if (classes.length == 1) {
                remarks.add(classes[0].getName() + " could not be put back: " + Refusal.reason(t));
            }
            return false;
        }
    }
}
