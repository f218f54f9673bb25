package sonde.agent.control;

import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.List;

/** The classes of the JVM, by the numbers that Sonde has for them and their loaders. */
final class Classes {
    private static final int FRAME_BYTES = 256 << 10;
    private static final int MODIFIABLE = 1;
    private static final int INTERFACE = 2;

    final Numbers<Class<?>> handles = new Numbers<Class<?>>();
    final Numbers<ClassLoader> loaders = new Numbers<ClassLoader>();
    private final Instrumentation instrumentation;

    Classes(Instrumentation instrumentation) {
        this.instrumentation = instrumentation;
    }

    /** Whether an internal name is that of a class of the agent, of any version. */
    static boolean isOurs(ClassLoader loader, String name) {
        return loader == Classes.class.getClassLoader() || name.startsWith("sonde/agent/")
                || loader == null && name.startsWith("java/lang/SondeHooks");
    }

    static String internalName(Class<?> named) {
        return named.getName().replace('.', '/');
    }

    /** Sends all loaded classes, a few thousand in each frame. */
    void list(int request, Outgoing outgoing, Lease lease) {
        Frame part = new Frame(Kind.CLASSES, request);
        int count = 0;
        for (Class<?> loaded : instrumentation.getAllLoadedClasses()) {
            ClassLoader loader = loaded.getClassLoader();
            if (loaded.isArray() || loaded.isPrimitive() || isOurs(loader, internalName(loaded))) {
                continue;
            }
            if (part.size() > FRAME_BYTES) {
                if (!outgoing.put(new Frame(Kind.CLASSES, request).u8(0).counted(count, part), lease)) {
                    return;
                }
                part = new Frame(Kind.CLASSES, request);
                count = 0;
            }
            int flags = (instrumentation.isModifiableClass(loaded) ? MODIFIABLE : 0)
                    | (loaded.isInterface() ? INTERFACE : 0);
            part.u32(handles.of(loaded)).u32(loaders.of(loader)).u8(flags).string(loaded.getName());
            count++;
        }
        outgoing.put(new Frame(Kind.CLASSES, request).u8(1).counted(count, part), lease);
    }

    /** Returns the classes of these handles, and adds the handles of unloaded classes to {@code gone}. */
    List<Class<?>> resolve(int[] wanted, List<Integer> gone) {
        List<Class<?>> found = new ArrayList<Class<?>>();
        for (int handle : wanted) {
            Class<?> named = handles.get(handle);
            if (named == null) {
                gone.add(handle);
            } else {
                found.add(named);
            }
        }
        return found;
    }
}
