package sonde.agent.control;

import java.util.HashMap;
import java.util.Map;

/** Which loaders see the hooks: each is asked once, and none is kept for that. */
final class PackSight {
    private final Class<?> hooks;
    private final Numbers<ClassLoader> numbers = new Numbers<ClassLoader>();
    private final Map<Integer, Boolean> known = new HashMap<Integer, Boolean>();

    /** The JDK's own loader of programs sees them for sure; to know that is also to have used all that is used later. */
    PackSight(Class<?> hooks) {
        this.hooks = hooks;
        ClassLoader system = ClassLoader.getSystemClassLoader();
        if (system != null && system.getClass().getClassLoader() == null) {
            known.put(number(system), true);
        }
    }

    /**
     * Asks a loader that is loading a class, so one that runs on this thread. What it does to answer is code of the program,
     * and not to be measured; no lock is held meanwhile.
     */
    boolean has(ClassLoader loader, int number, Hooks arena) {
        if (loader == null) {
            return true;
        }
        synchronized (known) {
            Boolean sees = known.get(number);
            if (sees != null) {
                return sees;
            }
        }
        boolean sees = ask(loader, arena);
        synchronized (known) {
            known.put(number, sees);
        }
        return sees;
    }

    private boolean ask(ClassLoader loader, Hooks arena) {
        arena.mute();
        try {
            return LoaderQuestions.sees(loader, hooks).isEmpty();
        } finally {
            arena.unmute();
        }
    }

    /** The number of a loader, of the boot loader 0. */
    int number(ClassLoader loader) {
        return numbers.of(loader);
    }

    boolean isGone(int number) {
        return number != 0 && numbers.get(number) == null;
    }
}
