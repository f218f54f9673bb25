package sonde.agent.control;

import java.io.File;
import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.List;

/** Ensures that the hook classes are defined. They are never unloaded, because they belong to the boot loader. */
final class HookClasses {
    private final Build build;
    private final Instrumentation instrumentation;
    private final File folder;
    private final Definer definer;
    private Class<?> main;

    /** Defines them in the way of this JDK, which may need a directory. */
    HookClasses(Build build, Instrumentation instrumentation, File folder) {
        this(build, instrumentation, folder, null);
    }

    HookClasses(Build build, Instrumentation instrumentation, Definer definer) {
        this(build, instrumentation, null, definer);
    }

    private HookClasses(Build build, Instrumentation instrumentation, File folder, Definer definer) {
        this.build = build;
        this.instrumentation = instrumentation;
        this.folder = folder;
        this.definer = definer;
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
                classes.add(build.read(build.hookClasses[i] + ".class"));
            }
        }
        definer().define(instrumentation, HookClasses.class.getClassLoader(), classes, names);
    }

    private Definer definer() throws ReflectiveOperationException {
        if (definer != null) {
            return definer;
        }
        try {
            return (Definer) Class.forName("sonde.agent.control.ModuleDefiner").newInstance();
        } catch (UnsupportedClassVersionError e) {
            return new BootJarDefiner(folder);
        }
    }

    private static Class<?> find(String name) {
        try {
            return Class.forName(name, false, null);
        } catch (ClassNotFoundException e) {
            return null;
        }
    }
}
