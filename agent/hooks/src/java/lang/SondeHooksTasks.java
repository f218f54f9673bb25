package java.lang;

import static java.lang.SondeHooks.U;
import static java.lang.SondeHooksPlaces.LONGS;
import static sonde.layout.Layout.HEADER_AMBIGUOUS;

import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Tasks that were handed over with a context, by identity, each as long as the program keeps it. Nobody waits for
 * anybody: a task's entry is within a few steps from its home, or nowhere.
 */
final class SondeHooksTasks {
    private static final int BITS = 15;
    private static final int MASK = (1 << BITS) - 1;
    private static final int WINDOW = 16;

    private final AtomicReferenceArray<SondeHooksCarried> table = new AtomicReferenceArray<SondeHooksCarried>(MASK + 1);
    private int turn;
    /** How many entries there are, alone in its cache line. */
    private final long[] used = new long[16];

    /** Whether any task may be here. */
    boolean isUsed() {
        return U.getLongOpaque(used, LONGS + 64) != 0;
    }

    private static int home(int hash) {
        return hash >>> 32 - BITS;
    }

    /** A task's entry, null where it has none. */
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

    /** Adds an entry of a task that has none; false where there is no room. */
    boolean add(SondeHooksCarried made) {
        for (int i = 0; i < WINDOW; i++) {
            int slot = home(made.hash) + i & MASK;
            SondeHooksCarried there = table.get(slot);
            if ((there == null || there.get() == null) && replace(slot, there, made)) {
                return true;
            }
        }
        for (int i = 0; i < WINDOW; i++) { // now look closer
            int slot = home(made.hash) + i & MASK;
            SondeHooksCarried there = table.get(slot);
            if ((there == null || there.isOver()) && replace(slot, there, made)) {
                return true;
            }
        }
        return addInPlaceOfFork(made);
    }

    /**
     * Adds an entry in the place of a fork-join task's. Such a task may never begin by itself: half of those that a
     * task splits into are computed by a plain call, and their entries stay until they are collected.
     */
    private boolean addInPlaceOfFork(SondeHooksCarried made) {
        int first = turn++; // threads may miss each other's: any order will do
        for (int i = 0; i < WINDOW; i++) {
            int slot = home(made.hash) + (first + i & WINDOW - 1) & MASK;
            SondeHooksCarried there = table.get(slot);
            if ((there == null || there.isFork()) && replace(slot, there, made)) {
                return true;
            }
        }
        return false;
    }

    /** A task that may be handed over more than once is handed over. False where there is no room. */
    boolean addShared(SondeHooksCarried made, Object task, boolean isEmpty) {
        SondeHooksCarried there = find(task);
        if (there != null) {
            there.pend(1);
            if (!there.isSame(made.path, made.tags, made.transaction)) {
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
        if (first != null && first != made && !first.isSame(made.path, made.tags, made.transaction)) {
            spoil(first); // another thread handed it over at the same moment
            made.spoil();
        }
        return true;
    }

    private static void spoil(SondeHooksCarried entry) {
        if (entry.spoil()) {
            SondeHooksPath.count(HEADER_AMBIGUOUS);
        }
    }

    /** A task begins: its entry goes, unless it was handed over more than once. Null where it has none. */
    SondeHooksCarried take(Object task) {
        SondeHooksCarried entry = find(task);
        if (entry != null && entry.pend(-1) <= 0) {
            remove(entry);
        }
        return entry;
    }

    /** Takes an entry away, whatever it waits for. */
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

    /** Takes away the entries of tasks that are no more. */
    void sweep() {
        for (int slot = 0; slot <= MASK && isUsed(); slot++) {
            SondeHooksCarried entry = table.get(slot);
            if (entry != null && entry.isOver()) {
                replace(slot, entry, null);
            }
        }
    }
}
