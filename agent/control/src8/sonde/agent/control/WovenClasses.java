package sonde.agent.control;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * The classes that are woven, or about to be, and what to put back: known by loader and name, since a class that
 * is being loaded is no object yet. Holds neither classes nor loaders.
 */
final class WovenClasses {
    private final Numbers<ClassLoader> loaders;
    private final Map<String, List<Entry>> byName = new HashMap<String, List<Entry>>();
    /** Counts restorations: what was asked for before one must not be woven after it. */
    private int generation;

    WovenClasses(Numbers<ClassLoader> loaders) {
        this.loaders = loaders;
    }

    synchronized int generation() {
        return generation;
    }

    /** From here on nothing is added for those who began earlier. */
    synchronized void nextGeneration() {
        generation++;
    }

    /** Notes a class that is to be retransformed, so that its bytes are asked for. */
    synchronized void want(Class<?> wanted) {
        entry(wanted.getClassLoader(), Classes.internalName(wanted)).loaded = new WeakReference<Class<?>>(wanted);
    }

    synchronized boolean wants(ClassLoader loader, String name) {
        return find(loader, name) != null;
    }

    /** Notes that a class gets hooks; false if it must not any more. */
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

    /** Notes that a class was given back what it was, which the JVM may yet refuse. */
    synchronized void bare(ClassLoader loader, String name) {
        Entry entry = find(loader, name);
        if (entry != null) {
            entry.bare = true;
        }
    }

    /** Notes that the JVM has taken what classes were given: those that got back what they were need no more. */
    synchronized void taken(List<Class<?>> classes) {
        for (Class<?> taken : classes) {
            Entry entry = find(taken.getClassLoader(), Classes.internalName(taken));
            if (entry != null && entry.bare) {
                entry.woven = false;
            }
        }
    }

    /** What to put back; null if the JVM's own will do. */
    synchronized byte[] original(ClassLoader loader, String name) {
        Entry entry = find(loader, name);
        return entry == null ? null : entry.original;
    }

    /** Recognises classes that were woven while they were loaded; says how many are still to be seen. */
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

    /** Gives the classes with hooks in them that are still there. */
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

    /** Lets go of what belonged to loaders that are gone. */
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
