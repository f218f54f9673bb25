package sonde.agent.control;

/** Which loaders see the hooks: each is asked until it has an answer, which goes with it. */
final class PackSight {
    private final Class<?> hooks;
    private final Numbers<ClassLoader> numbers = new Numbers<ClassLoader>();

    /** The JDK's own loader of programs sees them for sure; to know that is also to have used all that is used later. */
    PackSight(Class<?> hooks) {
        this.hooks = hooks;
        ClassLoader system = ClassLoader.getSystemClassLoader();
        if (system != null && system.getClass().getClassLoader() == null) {
            numbers.note(number(system), Boolean.TRUE);
        }
    }

    /**
     * Asks a loader that is loading a class, so one that runs on this thread. What it does to answer is code of the program,
     * and not to be measured; no lock is held in the meantime.
     */
    boolean has(ClassLoader loader, int number, Hooks arena) {
        if (loader == null) {
            return true;
        }
        Object sees = numbers.noted(number);
        if (sees == null) {
            sees = ask(loader, arena);
            numbers.note(number, sees);
        }
        return sees == Boolean.TRUE;
    }

    /** Null if it cannot tell now: for want of memory, or of a stack, it may link nothing for a while. */
    private Boolean ask(ClassLoader loader, Hooks arena) {
        arena.mute();
        try {
            return Class.forName(hooks.getName(), false, loader) == hooks ? Boolean.TRUE : null;
        } catch (ClassNotFoundException e) {
            return Boolean.FALSE;
        } catch (LinkageError passing) {
            return null;
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
