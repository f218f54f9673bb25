package sonde.agent.control;

/** Knows which loaders can see the hooks: each loader is asked until it answers; the answer is kept as long as the loader. */
final class PackSight {
    private final Class<?> hooks;
    private final Numbers<ClassLoader> numbers = new Numbers<ClassLoader>();

    /** The JDK's application loader always sees them; recording this also initialises the classes that are used later. */
    PackSight(Class<?> hooks) {
        this.hooks = hooks;
        ClassLoader system = ClassLoader.getSystemClassLoader();
        if (system != null && system.getClass().getClassLoader() == null) {
            numbers.note(number(system), Boolean.TRUE);
        }
    }

    /**
     * Asks a loader that is loading a class on this thread. The loader is code of the program, which must not be measured;
     * no lock is held during the call.
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

    /** Null if the answer is not known yet: without memory or stack, linking may fail for a while. */
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

    /** The number of a loader; 0 for the boot loader. */
    int number(ClassLoader loader) {
        return numbers.of(loader);
    }

    boolean isGone(int number) {
        return number != 0 && numbers.get(number) == null;
    }
}
