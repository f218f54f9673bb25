package sonde.agent.control;

import java.io.InputStream;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.Callable;

/** Questions to the loader of a class, which is code of the program and may hang or throw. */
final class LoaderQuestions {
    private static final String UNLOADED = "it was unloaded";
    private static final String LATE = "its loader did not answer in time";

    private static final int MOST_BYTES = 32 << 20;

    private final Classes classes;
    private final Aside aside;
    /** Loaders that hung during this command; the agent waits for each only once. */
    private final Set<Integer> late = new HashSet<Integer>();

    LoaderQuestions(Classes classes, Aside aside) {
        this.classes = classes;
        this.aside = aside;
    }

    /** Sends the class file of a class, as its loader finds it. */
    void fetch(int request, int handle, Outgoing outgoing, Lease lease) {
        Frame reply = new Frame(Kind.ORIGINAL, request).u32(handle);
        Class<?> asked = classes.handles.get(handle);
        boolean isFound = false;
        try {
            byte[] file = asked == null ? null : ask(asked, new Resource(asked));
            if (file == null || file.length == 0) {
                reply.u8(0).string(asked == null ? UNLOADED : "its loader has no class file for it");
            } else if (file.length > MOST_BYTES) {
                reply.u8(0).string("the class file that its loader returns is too large");
            } else {
                reply.u8(1).bytes(file);
                isFound = true;
            }
        } catch (Refusal refusal) {
            reply.u8(0).string(refusal.getMessage());
        }
        supertypes(isFound ? null : asked, reply);
        outgoing.put(reply, lease);
    }

    /** Adds the names of the superclass and the interfaces of a class without a file, such as a proxy. */
    private static void supertypes(Class<?> asked, Frame reply) {
        Class<?> superclass = asked == null ? null : asked.getSuperclass();
        Class<?>[] interfaces = asked == null ? new Class<?>[0] : asked.getInterfaces();
        reply.u32(interfaces.length + (superclass == null ? 0 : 1));
        if (superclass != null) {
            reply.string(Classes.internalName(superclass));
        }
        for (Class<?> one : interfaces) {
            reply.string(Classes.internalName(one));
        }
    }

    /** Returns the reason why the loader of a class cannot find the hooks, or "". */
    String sees(int handle, Class<?> hooks) {
        Class<?> asked = classes.handles.get(handle);
        if (asked == null) {
            return UNLOADED;
        }
        if (asked.getClassLoader() == null) {
            return "";
        }
        try {
            return ask(asked, new Lookup(asked.getClassLoader(), hooks));
        } catch (Refusal refusal) {
            return refusal.getMessage();
        }
    }

    private <T> T ask(Class<?> asked, Callable<T> question) throws Refusal {
        Integer loader = classes.loaders.of(asked.getClassLoader());
        if (late.contains(loader)) {
            throw new Refusal(LATE);
        }
        try {
            return aside.run(question);
        } catch (Aside.Late e) {
            late.add(loader);
            throw new Refusal(LATE);
        }
    }

    /** The reason why classes of a loader cannot call the hooks; empty if they can. */
    static String sees(ClassLoader loader, Class<?> hooks) {
        try {
            return Class.forName(hooks.getName(), false, loader) == hooks ? "" : "it finds another class named " + hooks.getName();
        } catch (ClassNotFoundException e) {
            return "it does not find " + hooks.getName();
        } catch (LinkageError e) {
            return "it does not find " + hooks.getName();
        }
    }

    private static final class Resource implements Callable<byte[]> {
        private final Class<?> asked;

        Resource(Class<?> asked) {
            this.asked = asked;
        }

        @Override
        public byte[] call() throws Exception {
            InputStream in = asked.getResourceAsStream("/" + Classes.internalName(asked) + ".class");
            return in == null ? null : Build.readAll(in, MOST_BYTES);
        }
    }

    private static final class Lookup implements Callable<String> {
        private final ClassLoader loader;
        private final Class<?> hooks;

        Lookup(ClassLoader loader, Class<?> hooks) {
            this.loader = loader;
            this.hooks = hooks;
        }

        @Override
        public String call() {
            return sees(loader, hooks);
        }
    }
}
