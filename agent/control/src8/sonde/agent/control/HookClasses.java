package sonde.agent.control;

import java.io.File;
import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.List;

/** Sees to it that the hook classes are there. Once defined they stay: a JVM unloads nothing of its boot loader. */
final class HookClasses {
    private final Build build;
    private final Instrumentation instrumentation;
    private final File folder;
    private final Definer definer;
    private Class<?> main;

    /** Defines them in the way this JDK has, for which a folder may be needed. */
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

    /** Gives the class that woven code calls, found where an earlier session of the same build defined it. */
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

    /** Defines the main class last: where it is, all are. Where the first is not there, none is: to look for each costs. */
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
