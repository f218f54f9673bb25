package sonde.agent.control;

import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.List;

/** Ensures that the hook classes are defined. They are never unloaded, because they belong to the boot loader. */
final class HookClasses {
    private final Build build;
    private final Instrumentation instrumentation;
    private Class<?> main;

    HookClasses(Build build, Instrumentation instrumentation) {
        this.build = build;
        this.instrumentation = instrumentation;
    }

    /** Returns the class that woven code calls, if an earlier session of the same build has defined it. */
    synchronized Class<?> need() throws Exception {
        if (main == null) {
            main = find(build.hookClasses[0].replace('/', '.'));
        }
        if (main == null) {
            define();
            main = Class.forName(build.hookClasses[0].replace('/', '.'), false, null);
        }
        return main;
    }

    /** Whether a session of the same build has defined them. */
    boolean areDefined() {
        return find(build.hookClasses[0].replace('/', '.')) != null;
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
        definer().define(instrumentation, HookClasses.class.getClassLoader(), classes, names);
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
