package sonde.agent.control;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.Map;

/** Numbers objects from 1, by identity, without keeping them: 0 is no object, and no number is used again. */
final class Numbers<T> {
    private final Map<Numbered<T>, Numbered<T>> byObject = new HashMap<Numbered<T>, Numbered<T>>();
    private final Map<Integer, Numbered<T>> byNumber = new HashMap<Integer, Numbered<T>>();
    private final ReferenceQueue<T> gone = new ReferenceQueue<T>();
    private int last;

    synchronized int of(T object) {
        if (object == null) {
            return 0;
        }
        forget();
        Numbered<T> key = new Numbered<T>(object, gone, last + 1);
        Numbered<T> known = byObject.get(key);
        if (known != null) {
            key.clear();
            return known.number;
        }
        last++;
        byObject.put(key, key);
        byNumber.put(last, key);
        return last;
    }

    /** The object of a number; null if it is gone. */
    synchronized T get(int number) {
        Numbered<T> found = byNumber.get(number);
        return found == null ? null : found.get();
    }

    /** The value stored for the object with a number; null if there is none, or the object is gone. */
    synchronized Object noted(int number) {
        Numbered<T> found = byNumber.get(number);
        return found == null ? null : found.noted;
    }

    /** Stores a value for an object, as long as the object lives. */
    synchronized void note(int number, Object noted) {
        Numbered<T> found = byNumber.get(number);
        if (found != null) {
            found.noted = noted;
        }
    }

    private void forget() {
        for (Reference<? extends T> old = gone.poll(); old != null; old = gone.poll()) {
            Numbered<?> numbered = (Numbered<?>) old;
            if (byObject.remove(numbered) != null) {
                byNumber.remove(numbered.number);
            }
        }
    }

    /** Equal if the object is the same: the equals method of the object is code of the program, and is not called. */
    private static final class Numbered<T> extends WeakReference<T> {
        final int number;
        private final int hash;
        Object noted;

        Numbered(T object, ReferenceQueue<T> queue, int number) {
            super(object, queue);
            this.number = number;
            this.hash = System.identityHashCode(object);
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public boolean equals(Object other) {
            if (this == other) {
                return true;
            }
            Object mine = get();
            return mine != null && other instanceof Numbered && ((Numbered<?>) other).get() == mine;
        }
    }
}
