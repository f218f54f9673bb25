package sonde.agent.control;

import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.List;

/** Removes all hooks and unmaps the arena. */
class Restoration {
    /** The number of searches for classes that were woven while they loaded, and the pause between them. */
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

    /** The order makes it safe: disable the hooks, restore the classes, which takes a safepoint, and only then unmap. */
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
        // If no class was restored, retransforming a class of the agent takes the safepoint.
        unmapped = (safepoint || retransform(Kind.class)) && hooks.retire();
        if (!unmapped) {
            remarks.add("a thread did not leave its hook in time, so the arena stays mapped until the next session or until the JVM exits");
        }
    }

    /** Retransforms the classes with hooks; returns whether at least one succeeded. */
    private boolean putBack() {
        int unseen = look();
        List<Class<?>> alive = weaving.alive();
        if (unseen > 0) {
            remarks.add(unseen + " classes were woven while they loaded, but did not appear among the loaded classes; they probably failed to load");
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

    /** Called before each batch, to report progress. */
    void progress(int done, int all) {}

    /** Before JDK 15, the JVM searches all loaded classes for each class of a batch, while the program is stopped. */
    private static int mostAtOnce() {
        String version = System.getProperty("java.specification.version", "");
        return version.startsWith("1.") || version.length() == 1 || version.compareTo("15") < 0 ? 25 : 1000;
    }

    /** Restores classes in one batch; if the JVM refuses, in halves, to keep the number of pauses small. */
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

    /** A class that was woven while it loads may not exist yet; a class that failed to load never will. */
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
                remarks.add(classes[0].getName() + " could not be restored: " + Refusal.reason(t));
            }
            return false;
        }
    }
}
