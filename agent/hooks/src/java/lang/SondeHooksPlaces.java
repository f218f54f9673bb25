package java.lang;

import static java.lang.SondeHooks.TID;
import static java.lang.SondeHooks.U;
import static sonde.layout.Layout.BLOCK_CURRENT;
import static sonde.layout.Layout.BLOCK_DEPTH;
import static sonde.layout.Layout.BLOCK_FLAGS;
import static sonde.layout.Layout.BLOCK_ROOT;
import static sonde.layout.Layout.BLOCK_WRAPPED;
import static sonde.layout.Layout.TOKEN_EPOCH_SHIFT;
import static sonde.layout.Layout.TOKEN_PLACE_SHIFT;

import jdk.internal.vm.annotation.ForceInline;

/**
 * Assigns places to threads: two hash tables on the heap, by thread id; the second is created when the first is crowded.
 *
 * <p>A place holds its owner's id (-1: free), a mark that is 1 while the owner accesses the arena, the offset of
 * its block, and a word; it fills a cache line. Only its owner writes to a place, except that
 * the places of dead threads are freed by the agent. Places are identified by an index, with one more bit for those
 * of the second table; a negative index is no place.
 */
final class SondeHooksPlaces {
    /** Not the id of a thread; 0 is the id of a thread whose constructor has not finished. */
    static final long FREE = -1;
    static final int PLACE_LONGS = 8;
    static final int PLACE_SHIFT = 6;
    static final int BUSY = 8;
    static final int BLOCK = 16;
    static final int WORD = 24;
    /** The common part of all tokens of the place: epoch and index. */
    static final int TOKEN = 32;
    /** When the owner was muted, by System.nanoTime, if it had running calls; otherwise 0. */
    static final int SINCE = 40;
    /** The path word of the owner, see SondeHooksPath. */
    static final int PATH = 48;

    /** The word: the owner is a virtual thread, or there is none. */
    static final long VIRTUAL = 1L << 62;
    /** The word: the owner is new, and has not initialised the block yet. */
    static final long FRESH = 1L << 61;
    /** From bit 32 of the word: how often muted. */
    static final long MUTE_ONE = 1L << 32;
    static final long MUTED = 0xffffL << 32;
    /** The lower half of the word: how many contexts are open. */
    static final long CONTEXT = 0xffffffffL;

    static final int FIRST_BITS = 11;
    static final int SECOND_BITS = 16;
    static final int SECOND = 1 << SECOND_BITS;
    static final int MOST_INDEX = 2 * SECOND - 1;
    static final long LONGS = longs();
    private static final int WINDOW = 16;
    private static final Class<?> VIRTUAL_THREAD = virtualThread();

    static volatile long[] first;
    static volatile long[] second;
    /** The owners of the places, to find those that have ended. */
    static Thread[] firstThreads;
    static Thread[] secondThreads;
    /** Further state of the owners, or null. Like the threads, it is created before the table and removed after it. */
    static SondeHooksState[] firstStates;
    static SondeHooksState[] secondStates;
    /** A thread found no place: the agent must create the second table. */
    static volatile boolean crowded;

    private SondeHooksPlaces() {
    }

    static long[] make(int bits) {
        long[] table = new long[PLACE_LONGS << bits];
        for (int at = 0; at < table.length; at += PLACE_LONGS) {
            table[at] = FREE;
            table[at + WORD / 8] = VIRTUAL; // so that a free place is never taken for that of a dead platform thread
        }
        return table;
    }

    /** The offset at which the search for a thread begins. Ids are consecutive, so they are distributed well. */
    @ForceInline
    static long home(long tid, int bits) {
        return LONGS + ((tid & (1L << bits) - 1) << PLACE_SHIFT);
    }

    /** The table with the place of an index; null if there is none. A forged token has any index. */
    @ForceInline
    static long[] table(int index) {
        if (index < 1 << FIRST_BITS) {
            return first;
        }
        return index < SECOND ? null : second;
    }

    @ForceInline
    static long offset(int index) {
        return LONGS + ((long) (index & SECOND - 1) << PLACE_SHIFT);
    }

    /** The place of a thread, negative if it has none. */
    static int find(long tid) {
        if (tid == 0) {
            return -1; // its constructor has not finished
        }
        int index = find(first, FIRST_BITS, tid);
        if (index < 0) {
            index = find(second, SECOND_BITS, tid);
            return index < 0 ? -1 : index | SECOND;
        }
        return index;
    }

    private static int find(long[] table, int bits, long owner) {
        int mask = (1 << bits) - 1;
        int index = (int) owner & mask;
        for (int i = 0; table != null && i < WINDOW; i++) {
            if (U.getLongOpaque(table, offset(index)) == owner) {
                return index;
            }
            index = index + 1 & mask;
        }
        return -1;
    }

    /** The place of the calling thread, claimed if it has none; negative if there is no room. */
    static int claim(long tid) {
        return claim(tid, Thread.currentThread());
    }

    static int claim(long tid, Thread thread) {
        int index = find(tid);
        if (index >= 0 || tid == 0) {
            return index;
        }
        index = take(first, firstThreads, FIRST_BITS, tid, thread);
        if (index < 0) {
            index = take(second, secondThreads, SECOND_BITS, tid, thread);
            if (index < 0) {
                crowded = true;
                return -1;
            }
            index |= SECOND;
        }
        return index;
    }

    private static int take(long[] table, Thread[] threads, int bits, long tid, Thread thread) {
        int mask = (1 << bits) - 1;
        int index = (int) tid & mask;
        for (int i = 0; table != null && i < WINDOW; i++) {
            long place = offset(index);
            if (U.getLongOpaque(table, place) == FREE && U.compareAndSetLong(table, place, FREE, tid)) {
                boolean virtual = isVirtual(thread);
                U.putLong(table, place + WORD, virtual ? VIRTUAL | FRESH : FRESH);
                long named = bits == FIRST_BITS ? index : index | SECOND;
                U.putLong(table, place + TOKEN, (long) SondeHooks.epoch << TOKEN_EPOCH_SHIFT | named << TOKEN_PLACE_SHIFT);
                U.putLong(table, place + PATH, virtual ? SondeHooksPath.OF_VIRTUAL : 0);
                if (threads != null && index < threads.length) {
                    threads[index] = thread;
                }
                forget(table, place);
                SondeHooksHandOff.adopt(table, place, thread);
                return index;
            }
            index = index + 1 & mask;
        }
        return -1;
    }

    static boolean isVirtual(Thread thread) {
        return VIRTUAL_THREAD != null && VIRTUAL_THREAD.isInstance(thread);
    }

    /** Further state of the owner of a place; null if there is none. */
    static SondeHooksState state(long[] table, long place) {
        SondeHooksState[] states = table == first ? firstStates : secondStates;
        int index = (int) (place - LONGS >>> PLACE_SHIFT);
        SondeHooksState state = states != null && index < states.length ? states[index] : null;
        return state != null && state.table == table ? state : null;
    }

    /** Is {@link #state}, created if there is none; null if the table is gone. */
    static SondeHooksState needState(long[] table, long place) {
        SondeHooksState state = state(table, place);
        if (state == null) {
            SondeHooksState[] states = table == first ? firstStates : secondStates;
            int index = (int) (place - LONGS >>> PLACE_SHIFT);
            // Checked last: as long as the table exists, so do its states.
            if (states != null && index < states.length && (table == first || table == second)) {
                state = new SondeHooksState(table);
                states[index] = state;
            }
        }
        return state;
    }

    private static void forget(long[] table, long place) {
        SondeHooksState state = state(table, place);
        if (state != null) {
            state.clear();
        }
    }

    static boolean isOwner(long[] table, long place) {
        return U.getLong(table, place) == U.getLong(Thread.currentThread(), TID);
    }

    /** Frees the places of threads that have ended. */
    static void sweep(long[] table, Thread[] threads) {
        for (int index = 0; table != null && threads != null && index < threads.length; index++) {
            Thread thread = threads[index];
            long place = offset(index);
            // A place that was claimed in the meantime has another id, or a live thread.
            if (thread != null && !thread.isAlive() && U.getLongVolatile(table, place) == U.getLong(thread, TID)) {
                threads[index] = null;
                forget(table, place);
                U.putLong(table, place + BUSY, 0); // it ended with a full stack
                U.putLong(table, place + WORD, VIRTUAL);
                U.putLong(table, place + PATH, 0);
                U.putLongRelease(table, place, FREE);
            }
        }
    }

    /**
     * Frees the place of the calling thread if it is virtual and not muted, has no running call, and has only the context
     * it began with, which it can find again.
     */
    static void giveUpIfEmpty(long[] table, long place) {
        if ((U.getLong(table, place + WORD) & (VIRTUAL | MUTED)) == VIRTUAL && SondeHooksHandOff.isAsBegun(table, place)
                && isEmpty(table, place)) {
            Thread[] threads = table == first ? firstThreads : secondThreads;
            int index = (int) (place - LONGS >>> PLACE_SHIFT);
            if (threads != null && index < threads.length) {
                threads[index] = null; // before another may claim it
            }
            U.putLongRelease(table, place, FREE);
        }
    }

    /** Sets the number of open contexts to that of a word. */
    static void leaveContext(long[] table, long place, long before) {
        U.putLong(table, place + WORD, U.getLong(table, place + WORD) & ~CONTEXT | before & CONTEXT);
    }

    /**
     * Changes the mute count of the calling thread, or of a thread without running calls. Time while it is muted is not
     * part of its running calls.
     */
    static void mute(Thread thread, long by) {
        long tid = U.getLong(thread, TID);
        int index = by > 0 ? claim(tid, thread) : find(tid);
        long[] table = table(index);
        long place = offset(index);
        if (index < 0 || table == null || U.getLong(table, place) != tid) {
            return;
        }
        long word = U.getLong(table, place + WORD);
        if (by < 0 && (word & MUTED) == 0) {
            return; // it was muted in an earlier arena
        }
        long after = word + by;
        if (by > 0 && (word & MUTED) == 0) {
            boolean counts = thread == Thread.currentThread() && !isEmpty(table, place);
            U.putLong(table, place + SINCE, counts ? System.nanoTime() : 0);
            if (counts) {
                SondeHooksAbsence.begin(table, place);
            }
        }
        U.putLong(table, place + WORD, after);
        if (by < 0 && (after & MUTED) == 0) {
            long since = U.getLong(table, place + SINCE);
            if (since != 0) {
                SondeHooksAbsence.end(table, place, System.nanoTime() - since);
            }
        }
        giveUpIfEmpty(table, place);
    }

    private static boolean isEmpty(long[] table, long place) {
        long then = U.getLong(table, place + TOKEN) >>> TOKEN_EPOCH_SHIFT;
        U.putLongOpaque(table, place + BUSY, 1);
        try {
            long b = SondeHooks.base;
            long block = b + U.getLong(table, place + BLOCK);
            return b == 0 || SondeHooks.epoch != then || (U.getLong(table, place + WORD) & FRESH) != 0
                    || U.getInt(null, block + BLOCK_DEPTH) == 0
                    && isOutside(b, block)
                    && (U.getInt(null, block + BLOCK_FLAGS) & BLOCK_WRAPPED) == 0;
        } finally {
            U.putLongRelease(table, place + BUSY, 0);
        }
    }

    /** Whether the owner of a block is in no node that counts calls. */
    private static boolean isOutside(long b, long block) {
        int current = U.getInt(null, block + BLOCK_CURRENT);
        return current == U.getInt(null, block + BLOCK_ROOT) || SondeHooksPart.isPart(b, current);
    }

    /** The offset of the elements of a long[]. The type of the JDK's constant differs between releases. */
    private static long longs() {
        long[] marked = {0x9E3779B97F4A7C15L, 0, 0, 0};
        long at = 8;
        while (U.getLong(marked, at) != marked[0]) {
            at += 8;
        }
        return at;
    }

    private static Class<?> virtualThread() {
        try {
            return Class.forName("java.lang.BaseVirtualThread", false, null);
        } catch (ClassNotFoundException before21) {
            return null;
        }
    }
}
