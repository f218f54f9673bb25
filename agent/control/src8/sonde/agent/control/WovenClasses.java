package sonde.agent.control;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * The classes that are woven, or about to be, and the bytes to restore, by loader and name, because there is no Class
 * object while a class loads. It refers neither to classes nor to loaders.
 */
final class WovenClasses {
    private final Numbers<ClassLoader> loaders;
    private final Map<String, List<Entry>> byName = new HashMap<String, List<Entry>>();
    /** Counts restorations: a request from before a restoration must not be woven after it. */
    private int generation;

    WovenClasses(Numbers<ClassLoader> loaders) {
        this.loaders = loaders;
    }

    synchronized int generation() {
        return generation;
    }

    /** From here on, nothing is added for requests that began earlier. */
    synchronized void nextGeneration() {
        generation++;
    }

    /** Records a class that will be retransformed, so that its bytes are requested. */
    synchronized void want(Class<?> wanted) {
        entry(wanted.getClassLoader(), Classes.internalName(wanted)).loaded = new WeakReference<Class<?>>(wanted);
    }

    synchronized boolean wants(ClassLoader loader, String name) {
        return find(loader, name) != null;
    }

    /** Records that a class gets hooks; false if it must not get them any more. */
    synchronized boolean woven(int begun, ClassLoader loader, String name, Class<?> loaded, byte[] original) {
        if (begun != generation) {
            return false;
        }
        Entry entry = entry(loader, name);
        entry.woven = true;
        entry.bare = false;
        entry.original = original;
        if (loaded != null) {
            entry.loaded = new WeakReference<Class<?>>(loaded);
        }
        return true;
    }

    /** Records that a class got its original bytes, which the JVM may still refuse. */
    synchronized void bare(ClassLoader loader, String name) {
        Entry entry = find(loader, name);
        if (entry != null) {
            entry.bare = true;
        }
    }

    /** Records that the JVM has accepted the bytes of classes: restored classes are finished. */
    synchronized void taken(List<Class<?>> classes) {
        for (Class<?> taken : classes) {
            Entry entry = find(taken.getClassLoader(), Classes.internalName(taken));
            if (entry != null && entry.bare) {
                entry.woven = false;
            }
        }
    }

    /** The bytes to restore; null if those of the JVM are right. */
    synchronized byte[] original(ClassLoader loader, String name) {
        Entry entry = find(loader, name);
        return entry == null ? null : entry.original;
    }

    /** Finds classes that were woven while they loaded; returns how many are still missing. */
    synchronized int recognise(Class<?>[] loaded) {
        for (Class<?> candidate : loaded) {
            String name = Classes.internalName(candidate);
            if (byName.containsKey(name)) {
                Entry entry = find(candidate.getClassLoader(), name);
                if (entry != null && entry.loaded == null) {
                    entry.loaded = new WeakReference<Class<?>>(candidate);
                }
            }
        }
        forget();
        int unseen = 0;
        for (List<Entry> sameName : byName.values()) {
            for (Entry entry : sameName) {
                unseen += entry.loaded == null ? 1 : 0;
            }
        }
        return unseen;
    }

    /** Returns the loaded classes with hooks. */
    synchronized List<Class<?>> alive() {
        List<Class<?>> alive = new ArrayList<Class<?>>();
        for (List<Entry> sameName : byName.values()) {
            for (Entry entry : sameName) {
                Class<?> loaded = entry.loaded == null ? null : entry.loaded.get();
                if (loaded != null && entry.woven) {
                    alive.add(loaded);
                }
            }
        }
        return alive;
    }

    /** Forgets classes of collected loaders. */
    synchronized void forget() {
        for (Iterator<List<Entry>> names = byName.values().iterator(); names.hasNext();) {
            List<Entry> sameName = names.next();
            for (Iterator<Entry> entries = sameName.iterator(); entries.hasNext();) {
                int loader = entries.next().loader;
                if (loader != 0 && loaders.get(loader) == null) {
                    entries.remove();
                }
            }
            if (sameName.isEmpty()) {
                names.remove();
            }
        }
    }

    synchronized void clear() {
        byName.clear();
    }

    private Entry find(ClassLoader loader, String name) {
        List<Entry> sameName = byName.get(name);
        if (sameName != null) {
            int number = loaders.of(loader);
            for (Entry entry : sameName) {
                if (entry.loader == number) {
                    return entry;
                }
            }
        }
        return null;
    }

    private Entry entry(ClassLoader loader, String name) {
        Entry entry = find(loader, name);
        if (entry == null) {
            entry = new Entry(loaders.of(loader));
            List<Entry> sameName = byName.get(name);
            if (sameName == null) {
                sameName = new ArrayList<Entry>(1);
                byName.put(name, sameName);
            }
            sameName.add(entry);
        }
        return entry;
    }

    private static final class Entry {
        final int loader;
        WeakReference<Class<?>> loaded;
        boolean woven;
        boolean bare;
        byte[] original;

        Entry(int loader) {
            this.loader = loader;
        }
    }
}
