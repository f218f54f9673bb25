package sonde.agent.control;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.ref.WeakReference;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * Replaces the bytes of classes of a pack, and of no others, on the thread that loads or retransforms a class. It neither
 * throws nor waits: in case of doubt, a class stays as it is.
 */
final class PackWeaving implements ClassFileTransformer, Weaves {
    private static final int LEAST_FORGOTTEN = 256;

    private final PackFile pack;
    private final PackAccount account;
    private final PackSight sight;
    private final Hooks hooks;
    /** The classes that got hooks, by the first records of their names and the numbers of their loaders. */
    private final Map<Long, Given> given = new HashMap<Long, Given>();
    /** If there are more, those of collected loaders are forgotten. */
    private int most = LEAST_FORGOTTEN;
    private volatile boolean restoring;

    PackWeaving(PackFile pack, PackAccount account, PackSight sight, Hooks hooks) {
        this.pack = pack;
        this.account = account;
        this.sight = sight;
        this.hooks = hooks;
    }

    /** Almost every class fails the first check, which must be as short as possible. */
    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        if (name == null) {
            return null; // a hidden class
        }
        int first = pack.find(name);
        if (first == 0) {
            return null;
        }
        try {
            return decide(loader, name, redefined != null, bytes, first);
        } catch (Throwable contained) {
            return failed(name, first);
        }
    }

    private byte[] failed(String name, int first) {
        try {
            account.leave(PackAccount.FAILED, name, first);
        } catch (Throwable contained) {
            // There is not enough memory to count it.
        }
        return null;
    }

    private byte[] decide(ClassLoader loader, String name, boolean redefined, byte[] bytes, int first) {
        if (restoring) {
            return null; // the JVM has the original
        }
        int number = sight.number(loader);
        int record = pack.match(first, bytes);
        if (record == 0) {
            // A retransformed class without hooks differs in form from its file, so the comparison means nothing.
            if (!redefined || isGiven(number, first)) {
                account.leave(PackAccount.DIFFERS, name, first);
            }
            return null;
        }
        if (!sight.has(loader, number, hooks)) {
            account.leave(PackAccount.BLIND, name, first);
            return null;
        }
        byte[] woven = pack.weave(record, bytes);
        if (woven == null) {
            return failed(name, first);
        }
        if (!give(number, first)) {
            return null;
        }
        if (!redefined) {
            account.woven();
        }
        return woven;
    }

    /** Records that a class gets hooks; false if it must not get them any more. */
    private synchronized boolean give(int loader, int first) {
        if (restoring) {
            return false;
        }
        Long key = key(loader, first);
        if (!given.containsKey(key)) {
            given.put(key, new Given(loader));
            if (given.size() > most) {
                forgetGone();
            }
        }
        return true;
    }

    /** Called so rarely that it costs little per class. */
    private void forgetGone() {
        for (Iterator<Given> all = given.values().iterator(); all.hasNext();) {
            if (sight.isGone(all.next().loader)) {
                all.remove();
            }
        }
        most = Math.max(LEAST_FORGOTTEN, 2 * given.size());
    }

    private synchronized boolean isGiven(int loader, int first) {
        return given.containsKey(key(loader, first));
    }

    private static Long key(int loader, int first) {
        return (long) first << 32 | loader;
    }

    /** From here on, no class is woven, and the arena is not accessed. */
    @Override
    public void beginRestoring() {
        synchronized (this) {
            restoring = true;
        }
        account.close();
    }

    @Override
    public synchronized int recognise(Class<?>[] loaded) {
        for (Class<?> candidate : loaded) {
            int first = pack.find(Classes.internalName(candidate));
            Given one = first == 0 ? null : given.get(key(sight.number(candidate.getClassLoader()), first));
            if (one != null) {
                one.loaded = new WeakReference<Class<?>>(candidate);
            }
        }
        int unseen = 0;
        for (Given one : given.values()) {
            unseen += one.loaded == null && !sight.isGone(one.loader) ? 1 : 0;
        }
        return unseen;
    }

    @Override
    public synchronized List<Class<?>> alive() {
        List<Class<?>> alive = new ArrayList<Class<?>>();
        for (Given one : given.values()) {
            Class<?> loaded = one.loaded == null ? null : one.loaded.get();
            if (loaded != null) {
                alive.add(loaded);
            }
        }
        return alive;
    }

    @Override
    public void unregister(Instrumentation instrumentation) {
        instrumentation.removeTransformer(this);
    }

    /** A class that got hooks, by the number of its loader. */
    private static final class Given {
        final int loader;
        /** When it was seen. */
        WeakReference<Class<?>> loaded;

        Given(int loader) {
            this.loader = loader;
        }
    }
}
