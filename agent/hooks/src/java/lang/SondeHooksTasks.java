package java.lang;

import static java.lang.SondeHooks.U;
import static java.lang.SondeHooksPlaces.LONGS;
import static sonde.layout.Layout.HEADER_AMBIGUOUS;

import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Tasks that were submitted with a context, by identity, each as long as the program keeps it. No thread waits: the
 * entry of a task is within a few steps of its home, or absent.
 */
final class SondeHooksTasks {
    private static final int BITS = 15;
    private static final int MASK = (1 << BITS) - 1;
    private static final int WINDOW = 16;

    private final AtomicReferenceArray<SondeHooksCarried> table = new AtomicReferenceArray<SondeHooksCarried>(MASK + 1);
    private int turn;
    /** Whether a thread that is not virtual was ever a task. */
    boolean hasThreads;
    /** Whether the times of submissions are recorded. */
    volatile boolean isTimed;
    /** Whether tasks carry no contexts. */
    volatile boolean isBare;
    /** The number of entries, in its own cache line. */
    private final long[] used = new long[16];

    /** Sets what is recorded. While that is times, there may always be a task. */
    void set(boolean timed, boolean bare) {
        if (timed != isTimed) {
            U.getAndAddLong(used, LONGS + 64, timed ? 1 : -1);
        }
        isTimed = timed;
        isBare = bare;
    }

    /** Whether any task may be here. */
    boolean isUsed() {
        return U.getLongOpaque(used, LONGS + 64) != 0;
    }

    /** Whether a thread may be here. */
    boolean mayHave(Thread thread) {
        return isUsed() && (hasThreads || SondeHooksPlaces.isVirtual(thread));
    }

    private static int home(int hash) {
        return hash >>> 32 - BITS;
    }

    /** The entry of a task, null if it has none. */
    SondeHooksCarried find(Object task) {
        int hash = SondeHooksCarried.hash(task);
        for (int i = 0; i < WINDOW; i++) {
            SondeHooksCarried entry = table.get(home(hash) + i & MASK);
            if (entry != null && entry.hash == hash && entry.isOf(task)) {
                return entry;
            }
        }
        return null;
    }

    /** Adds an entry of a task that has none; false if there is no room. */
    boolean add(SondeHooksCarried made) {
        for (int i = 0; i < WINDOW; i++) {
            int slot = home(made.hash) + i & MASK;
            SondeHooksCarried there = table.get(slot);
            if ((there == null || there.get() == null) && replace(slot, there, made)) {
                return true;
            }
        }
        for (int i = 0; i < WINDOW; i++) { // now check each entry
            int slot = home(made.hash) + i & MASK;
            SondeHooksCarried there = table.get(slot);
            if ((there == null || there.isOver()) && replace(slot, there, made)) {
                return true;
            }
        }
        return addInPlaceOfFork(made);
    }

    /**
     * Replaces an entry of a fork-join task. Such a task may never start on its own: half of the subtasks are computed by a
     * plain call, and their entries stay until they are collected.
     */
    private boolean addInPlaceOfFork(SondeHooksCarried made) {
        int first = turn++; // a race is harmless: the order does not matter
        for (int i = 0; i < WINDOW; i++) {
            int slot = home(made.hash) + (first + i & WINDOW - 1) & MASK;
            SondeHooksCarried there = table.get(slot);
            if ((there == null || there.isFork()) && replace(slot, there, made)) {
                return true;
            }
        }
        return false;
    }

    /** Records the submission of a task that may be submitted more than once; false if there is no room. */
    boolean addShared(SondeHooksCarried made, Object task, boolean isEmpty, long now) {
        SondeHooksCarried there = find(task);
        if (there != null && there.pend(1) > 1) { // otherwise it is about to be removed
            there.submittedAgain(now);
            if (!there.isSame(made)) {
                spoil(there);
            }
            return true;
        }
        if (isEmpty) {
            return true;
        }
        if (!add(made)) {
            return false;
        }
        SondeHooksCarried first = find(task);
        if (first != null && first != made && !first.isSame(made)) {
            spoil(first); // another thread submitted it at the same time
            made.spoil();
        }
        return true;
    }

    private static void spoil(SondeHooksCarried entry) {
        if (entry.spoil()) {
            SondeHooksPath.count(HEADER_AMBIGUOUS);
        }
    }

    /** Removes and returns the entry of a task that starts, unless it was submitted more than once; null if it has none. */
    SondeHooksCarried take(Object task) {
        SondeHooksCarried entry = find(task);
        if (entry != null && entry.pend(-1) <= 0) {
            remove(entry);
        }
        return entry;
    }

    /** Removes an entry in any state. */
    void remove(SondeHooksCarried entry) {
        for (int i = 0; i < WINDOW; i++) {
            int slot = home(entry.hash) + i & MASK;
            if (table.get(slot) == entry) {
                replace(slot, entry, null);
                return;
            }
        }
    }

    private boolean replace(int slot, SondeHooksCarried there, SondeHooksCarried by) {
        if (!table.compareAndSet(slot, there, by)) {
            return false;
        }
        if (there == null || by == null) {
            U.getAndAddLong(used, LONGS + 64, by == null ? -1 : 1);
        }
        return true;
    }

    /** Removes the entries of tasks that were collected. */
    void sweep() {
        for (int slot = 0; slot <= MASK && isUsed(); slot++) {
            SondeHooksCarried entry = table.get(slot);
            if (entry != null && entry.isOver()) {
                replace(slot, entry, null);
            }
        }
    }
}
