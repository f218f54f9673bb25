package sonde.agent.control;

import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.List;

/** Ensures that the hook classes are defined. They are never unloaded, because they belong to the boot loader. */
final class HookClasses {
    /** What the hooks require of who controls them; null until they are found or defined. */
    static volatile Object key;

    private final Build build;
    private final Instrumentation instrumentation;
    private Class<?> main;

    HookClasses(Build build, Instrumentation instrumentation) {
        this.build = build;
        this.instrumentation = instrumentation;
    }

    /** Returns the class that woven code calls, and defines it unless an earlier session of the same build has. */
    synchronized Class<?> need() throws Exception {
        if (main == null && !areDefined()) {
            define();
            main = Class.forName(build.hookClasses[0].replace('/', '.'), false, null);
        }
        return main;
    }

    /** Whether a session of the same build has defined them; then they can be called. */
    synchronized boolean areDefined() throws ReflectiveOperationException {
        if (main == null) {
            Class<?> found = find(build.hookClasses[0].replace('/', '.'));
            if (found != null) {
                opened();
                main = found;
            }
        }
        return main != null;
    }

    /** Defines the main class last: if it exists, all do. If the first does not exist, none does, so the others are not looked up. */
    private void define() throws Exception {
        List<String> names = new ArrayList<String>();
        List<byte[]> classes = new ArrayList<byte[]>();
        boolean some = false;
        for (int i = build.hookClasses.length - 1; i >= 0; i--) {
            String name = build.hookClasses[i].replace('/', '.');
            boolean isFirst = i == build.hookClasses.length - 1;
            boolean isThere = (isFirst || some) && find(name) != null;
            some |= isThere;
            if (!isThere) {
                names.add(name);
                classes.add(build.hookClass(build.hookClasses[i]));
            }
        }
        opened().define(classes, names);
    }

    private Definer opened() throws ReflectiveOperationException {
        Definer by = definer();
        key = by.open(instrumentation, HookClasses.class.getClassLoader());
        return by;
    }

    private static Definer definer() throws ReflectiveOperationException {
        return Build.IS_JAVA_8 ? new Java8Definer() : (Definer) Class.forName("sonde.agent.control.ModuleDefiner").newInstance();
    }

    private static Class<?> find(String name) {
        try {
            return Class.forName(name, false, null);
        } catch (ClassNotFoundException e) {
            return null;
        }
    }
}
