package java.lang;

import static java.lang.SondeHooks.TID;
import static java.lang.SondeHooks.U;
import static java.lang.SondeHooksPlaces.BLOCK;
import static java.lang.SondeHooksPlaces.BUSY;
import static java.lang.SondeHooksPlaces.CONTEXT;
import static java.lang.SondeHooksPlaces.FIRST_BITS;
import static java.lang.SondeHooksPlaces.FRESH;
import static java.lang.SondeHooksPlaces.LONGS;
import static java.lang.SondeHooksPlaces.MUTED;
import static java.lang.SondeHooksPlaces.MUTE_ONE;
import static java.lang.SondeHooksPlaces.PATH;
import static java.lang.SondeHooksPlaces.TOKEN;
import static java.lang.SondeHooksPlaces.WORD;
import static sonde.layout.Layout.*;

import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * Called by methods that are measured in a context: first the context is checked, then the condition, and only
 * then does the call begin.
 */
public final class SondeHooksWatch {
    /**
     * The settings of spots, anchors and tag points: open addressing by id, four words each, a power of two of them;
     * null when all are off. It has no entries for those that are off.
     */
    static volatile long[] watches;
    /**
     * Is {@link SondeHooksPlaces#first} for code that uses only places. A thread that has read the table of watches sees
     * the current value; values written to places of an earlier arena are never read.
     */
    static long[] nearby;
    /** In the fourth word of an entry: by what results are grouped. */
    static final long GROUPING = -1L << 32 | (1 << TAGS_MOST) - 1;

    private SondeHooksWatch() {
    }

    /** Lets the agent initialise the class, so that no hook does. */
    static void prepare() {
    }

    /** Whether the context of a spot holds now, so that its condition must be evaluated. */
    @ForceInline
    public static boolean holds(int id) {
        long[] table = watches;
        if (table == null) {
            return false;
        }
        long entry = home(table, id);
        long head = U.getLong(table, entry);
        if ((int) (head >>> 32) != id) {
            entry = head == 0 ? 0 : search(table, entry, id);
            if (entry == 0) {
                return false;
            }
        }
        long[] places = nearby;
        if (places == null) {
            return false;
        }
        long tid = U.getLong(Thread.currentThread(), TID);
        long place = SondeHooksPlaces.home(tid, FIRST_BITS);
        if (U.getLong(places, place) != tid) {
            return holdsElsewhere(tid, table, entry);
        }
        long needed = U.getLong(table, entry + 8);
        long third = U.getLong(table, entry + 16);
        long path = 0;
        if (needed != 0 || outside(third) != 0) { // else it is the same wherever the thread is
            path = U.getLong(places, place + PATH);
            if ((path ^ third) >>> SondeHooksPath.MARK_SHIFT != 0) {
                return holdsAnew(places, place, table, entry); // or the thread is a virtual one
            }
        }
        return holds(places, place, table, entry, needed, path);
    }

    /** The positions that must not be matched, by the third word of an entry. */
    @ForceInline
    private static long outside(long third) {
        return third >>> PATH_POSITIONS & SondeHooksPath.POSITIONS;
    }

    @ForceInline
    private static boolean holds(long[] places, long place, long[] table, long entry, long needed, long path) {
        if ((path & outside(U.getLong(table, entry + 16))) != 0) {
            return false;
        }
        if (needed != 0 && (path & needed & SondeHooksPath.POSITIONS) == 0 && (path >>> PATH_POSITIONS & needed >>> 32) == 0) {
            return false;
        }
        long word = U.getLong(places, place + WORD);
        if ((word & MUTED) != 0 || (U.getLong(table, entry) & INSIDE) != 0 && (word & CONTEXT) == 0) {
            return false;
        }
        // Finding the caller costs more than a condition without calls, which is evaluated first.
        return needed == 0 || (path & needed & SondeHooksPath.POSITIONS) != 0 || (U.getLong(table, entry + 24) & WATCH_PURE) != 0
                || isCalledBy(places, place, needed, path);
    }

    private static boolean isCalledBy(long[] places, long place, long needed, long path) {
        return (SondeHooksDirect.callerOf(places, place) & path >>> PATH_POSITIONS & needed >>> 32) != 0;
    }

    /** Whether the caller matches, for a call whose condition was evaluated first. */
    @DontInline
    private static boolean isMeant(long[] table, int at) {
        long tid = U.getLong(Thread.currentThread(), TID);
        int index = SondeHooksPlaces.find(tid);
        long[] places = SondeHooksPlaces.table(index);
        long place = SondeHooksPlaces.offset(index);
        if (index < 0 || places == null || U.getLong(places, place) != tid) {
            return false;
        }
        long needed = table[at + 1];
        long path = SondeHooksPath.of(places, place, table[at + 2] & SondeHooksPath.MARK);
        return (path & needed & SondeHooksPath.POSITIONS) != 0 || isCalledBy(places, place, needed, path);
    }

    /** Checks with the mark that the table has had since it was created. */
    @DontInline
    private static boolean holdsAnew(long[] places, long place, long[] table, long entry) {
        long path = SondeHooksPath.of(places, place, U.getLong(table, entry + 16) & SondeHooksPath.MARK);
        return holds(places, place, table, entry, U.getLong(table, entry + 8), path);
    }

    /** A thread without a place is outside every context, unless it is a virtual thread that got a context with its task. */
    @DontInline
    private static boolean holdsElsewhere(long tid, long[] table, long entry) {
        int index = SondeHooksHandOff.find(tid);
        boolean isInside = (U.getLong(table, entry) & INSIDE) != 0;
        if (index < 0) {
            return U.getLong(table, entry + 8) == 0 && !isInside;
        }
        long[] places = SondeHooksPlaces.table(index);
        long place = SondeHooksPlaces.offset(index);
        if (places == null || U.getLong(places, place) != tid) {
            return false;
        }
        boolean holds = holdsAnew(places, place, table, entry);
        if (!holds || !isInside) { // a thread inside must keep its place for the code that follows
            SondeHooksPlaces.giveUpIfEmpty(places, place);
        }
        return holds;
    }

    /**
     * Mutes the calling thread while a condition is evaluated, unless the condition calls nothing: its calls are not
     * those of the program, and might evaluate it again. {@link #loud} ends it.
     */
    @ForceInline
    public static long quiet(int id) {
        long[] table = watches;
        int at = entry(table, id);
        return at < 0 || (table[at + 3] & WATCH_PURE) != 0 ? 0 : mute();
    }

    /** Ends {@link #quiet}. */
    @ForceInline
    public static void loud(long quiet) {
        if (quiet != 0) {
            unmute(quiet);
        }
    }

    /** Mutes the calling thread; returns the token that undoes it, 0 if there is no room. */
    static long mute() {
        long tid = U.getLong(Thread.currentThread(), TID);
        int index = SondeHooksPlaces.claim(tid);
        long[] places = SondeHooksPlaces.table(index);
        long place = SondeHooksPlaces.offset(index);
        if (index < 0 || places == null || U.getLong(places, place) != tid) {
            return 0;
        }
        long word = U.getLong(places, place + WORD);
        U.putLong(places, place + WORD, word + MUTE_ONE);
        return U.getLong(places, place + TOKEN) | (word & MUTED) >>> 32;
    }

    /** Undoes the {@link #mute} that returned the token. */
    static void unmute(long token) {
        long[] places = places(token);
        long place = SondeHooksPlaces.offset(index(token));
        if (places == null || !SondeHooksPlaces.isOwner(places, place)) {
            return;
        }
        U.putLong(places, place + WORD, U.getLong(places, place + WORD) & ~MUTED | token << 32 & MUTED);
        SondeHooksPlaces.giveUpIfEmpty(places, place);
    }

    /** The table with the place of a token; null if it belongs to an earlier arena. */
    static long[] places(long token) {
        // Read before the epoch: if the epoch is that of the token, so is the table.
        long[] places = SondeHooksPlaces.table(index(token));
        return SondeHooks.epoch == (int) (token >>> TOKEN_EPOCH_SHIFT) ? places : null;
    }

    static int index(long token) {
        return (int) (token >>> TOKEN_PLACE_SHIFT) & SondeHooksPlaces.MOST_INDEX;
    }

    /**
     * Begins a call of a spot that acts everywhere and has no condition. Not inlined: if the spot is on,
     * a call follows anyway, and a starting JVM has less code to compile.
     */
    @DontInline
    public static long enter(int id) {
        long[] table = watches;
        int at = entry(table, id);
        if (at < 0) {
            return 0;
        }
        if ((table[at + 3] & ~(long) WATCH_PURE) != 0) { // a muted thread has no labels
            return holds(id) ? admit(id) : 0;
        }
        long[] places = nearby;
        long tid = U.getLong(Thread.currentThread(), TID);
        if (places != null && U.getLong(places, SondeHooksPlaces.home(tid, FIRST_BITS)) == SondeHooksPlaces.FREE) {
            arrive(tid);
        }
        return SondeHooks.begin(id, (int) table[at]); // it checks whether the thread is muted, and inside
    }

    /** Ends a call that {@link #enter} began; not inlined either. */
    @DontInline
    public static void exit(long token) {
        if (token > TOKEN_SPILLED) {
            SondeHooks.close(token, 0);
        }
    }

    /** Is {@link #exit} for a call that ends with an exception. It is here so that woven methods refer to one class, not two. */
    public static void fail(long token, int id) {
        SondeHooks.fail(token, id);
    }

    /**
     * Gives a thread its place and its block, as {@link SondeHooks#begin} would. But begin is long, and if only one
     * thread has run it when it is compiled, the second thread causes a recompilation while the program starts.
     */
    @DontInline
    private static void arrive(long tid) {
        int index = SondeHooksPlaces.claim(tid);
        long[] places = SondeHooksPlaces.table(index);
        long place = SondeHooksPlaces.offset(index);
        if (index < 0 || places == null || U.getLong(places, place) != tid) {
            return;
        }
        long then = U.getLong(places, place + TOKEN) >>> TOKEN_EPOCH_SHIFT;
        U.putLongOpaque(places, place + BUSY, 1);
        try {
            long b = SondeHooks.base;
            if (b != 0 && SondeHooks.epoch == then && (U.getLong(places, place + WORD) & (FRESH | MUTED)) == FRESH) {
                SondeHooksTree.settle(b, places, place);
            }
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
        }
    }

    /** Begins a call of a spot, as {@link SondeHooks#enter} does. */
    @ForceInline
    public static long admit(int id) {
        long[] table = watches;
        int at = entry(table, id);
        if (at < 0) {
            return 0; // it was switched off in the meantime
        }
        if (table[at + 1] >>> 32 != 0 && (table[at + 3] & WATCH_PURE) != 0 && !isMeant(table, at)) {
            return 0;
        }
        int setting = (int) table[at];
        int quota = SondeHooksQuota.of(table[at + 3]);
        if (quota != 0) {
            boolean isLate = (setting & LATE) != 0;
            if (!SondeHooksQuota.admits(quota, !isLate)) {
                return 0;
            }
            if (isLate) {
                setting |= CALLERS; // its exit takes one
            }
        }
        long grouping = table[at + 3] & GROUPING;
        long token = grouping == 0 ? SondeHooks.begin(id, setting) : SondeHooksLabels.begin(id, setting, grouping);
        if ((table[at + 3] & WATCH_QUEUED) != 0 && token != 0) {
            SondeHooksHandOff.began(id);
        }
        return token;
    }

    /** The fourth word of the entry of a spot; -1 if it is off. */
    static long fourth(int id) {
        long[] table = watches;
        int at = entry(table, id);
        return at < 0 ? -1 : table[at + 3];
    }

    /** Counts a call whose condition could not be evaluated, as long as calls count. */
    @DontInline
    public static void unsure(int id) {
        long fourth = fourth(id);
        int quota = fourth < 0 ? 0 : SondeHooksQuota.of(fourth);
        if (quota != 0 && !SondeHooksQuota.admits(quota, false)) {
            return;
        }
        long tid = U.getLong(Thread.currentThread(), TID);
        int index = SondeHooksPlaces.claim(tid);
        long[] places = SondeHooksPlaces.table(index);
        long place = SondeHooksPlaces.offset(index);
        if (index < 0 || places == null || U.getLong(places, place) != tid) {
            return;
        }
        long then = U.getLong(places, place + TOKEN) >>> TOKEN_EPOCH_SHIFT;
        U.putLongOpaque(places, place + BUSY, 1);
        try {
            long b = SondeHooks.base;
            if (b != 0 && SondeHooks.epoch == then) {
                long block = b + U.getLong(places, place + BLOCK);
                if ((U.getLong(places, place + WORD) & FRESH) != 0) {
                    block = SondeHooksTree.settle(b, places, place);
                }
                int ref = block == 0 ? 0 : SondeHooksTree.search(b, block, id, FLAT);
                if (ref != 0) {
                    long counter = SondeHooks.at(b, ref) + NODE_UNDECIDED;
                    U.putLong(null, counter, U.getLong(null, counter) + 1);
                }
            }
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
        }
        SondeHooksPlaces.giveUpIfEmpty(places, place);
    }

    /** The index of the entry of an id in a table, negative if there is none. */
    @ForceInline
    static int entry(long[] table, int id) {
        if (table == null) {
            return -1;
        }
        long entry = home(table, id);
        if ((int) (U.getLong(table, entry) >>> 32) != id) {
            entry = search(table, entry, id);
        }
        return entry == 0 ? -1 : (int) (entry - LONGS >>> 3);
    }

    /** The offset at which the search for an id begins. */
    @ForceInline
    static long home(long[] table, int id) {
        return LONGS + ((long) (id * WATCH_WORDS & table.length - 1) << 3);
    }

    /** The offset of the entry of an id that is not at home; 0 if there is none. */
    @DontInline
    static long search(long[] table, long home, int id) {
        int mask = table.length - 1;
        int at = (int) (home - LONGS >>> 3);
        // An empty entry ends the search. The bound protects the program from a table without one.
        for (int left = table.length; left > 0 && table[at] != 0; left -= WATCH_WORDS) {
            if ((int) (table[at] >>> 32) == id) {
                return LONGS + ((long) at << 3);
            }
            at = at + WATCH_WORDS & mask;
        }
        return 0;
    }
}
