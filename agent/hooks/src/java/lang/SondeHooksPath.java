package java.lang;

import static java.lang.SondeHooks.TID;
import static java.lang.SondeHooks.U;
import static java.lang.SondeHooksPlaces.FIRST_BITS;
import static java.lang.SondeHooksPlaces.PATH;
import static sonde.layout.Layout.HEADER_CONTEXTS_LOST;
import static sonde.layout.Layout.PATH_POSITIONS;

import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * Called by methods that are elements of sequences of callers. The path word of a thread has a bit for each element of
 * all sequences; it says which prefixes of sequences are on the stack. It is in the place of the thread, on the heap,
 * so the arena is not accessed.
 *
 * <pre>
 *   63  62    56 55          28 27           0
 * +----+--------+--------------+--------------+   v.: the thread is virtual
 * | v. |  mark  |  innermost   |  somewhere   |   innermost: prefixes that end at the innermost anchor
 * +----+--------+--------------+--------------+   somewhere: all matched prefixes
 * </pre>
 *
 * <p>The entry saves the path in a variable of the method; the exit restores it, which also corrects missed inner exits.
 * The mark distinguishes current paths from those of an earlier arena, or of a time when positions had another
 * meaning: an exit that comes too late changes nothing.
 */
public final class SondeHooksPath {
    static final long POSITIONS = (1L << PATH_POSITIONS) - 1;
    static final int MARK_SHIFT = 2 * PATH_POSITIONS;
    private static final int MARKS = 127;
    static final long PREFIXES = (1L << MARK_SHIFT) - 1;
    /** Set in the path of a virtual thread. */
    static final long OF_VIRTUAL = 1L << 63;
    static final long MARK = ~(PREFIXES | OF_VIRTUAL);

    /** The mark of a path and of an entry of the table of watches; never 0. */
    static volatile long mark = 1L << MARK_SHIFT;

    private SondeHooksPath() {
    }

    /** Lets the agent initialise the class, so that no hook does. */
    static void prepare() {
    }

    /** Resets the paths of all threads: tables that are created from now on have another mark. */
    static void renew() {
        mark = ((mark >>> MARK_SHIFT) % MARKS + 1) << MARK_SHIFT;
    }

    /** Enters an anchor; returns the argument for {@link #depart}, 0 if nothing has to be undone. */
    @ForceInline
    public static long arrive(int id) {
        long[] table = SondeHooksWatch.watches;
        if (table == null) {
            return 0;
        }
        long entry = SondeHooksWatch.home(table, id);
        long head = U.getLong(table, entry);
        if ((int) (head >>> 32) != id) {
            entry = head == 0 ? 0 : SondeHooksWatch.search(table, entry, id);
            if (entry == 0) {
                return 0;
            }
        }
        long[] places = SondeHooksWatch.nearby;
        if (places == null) {
            return 0;
        }
        long tid = U.getLong(Thread.currentThread(), TID);
        long place = SondeHooksPlaces.home(tid, FIRST_BITS);
        if (U.getLong(places, place) != tid) {
            return arriveElsewhere(tid, table, entry);
        }
        long was = U.getLong(places, place + PATH);
        long direct = U.getLong(table, entry + 16);
        if ((was ^ direct) >>> MARK_SHIFT != 0) {
            return arriveAnew(places, place, table, entry); // or the thread is a virtual one
        }
        return enter(places, place, table, entry, was, direct);
    }

    /** Restores the path. */
    @ForceInline
    public static void depart(long was) {
        if (was == 0) {
            return;
        }
        long[] places = SondeHooksWatch.nearby;
        if (places == null) {
            return;
        }
        long tid = U.getLong(Thread.currentThread(), TID);
        long place = SondeHooksPlaces.home(tid, FIRST_BITS);
        if (U.getLong(places, place) != tid) {
            departElsewhere(tid, was);
            return;
        }
        if (isOfNow(places, place, was)) {
            U.putLong(places, place + PATH, was);
            if (was < 0) { // of a virtual thread
                SondeHooksPlaces.giveUpIfEmpty(places, place);
            }
        }
    }

    /** Whether a path has the current mark. */
    @ForceInline
    private static boolean isOfNow(long[] places, long place, long path) {
        return (U.getLong(places, place + PATH) ^ path) >>> MARK_SHIFT == 0;
    }

    /** The path of the owner of a place, empty if it has another mark. */
    @ForceInline
    static long of(long[] places, long place, long now) {
        long path = U.getLong(places, place + PATH);
        return (path & MARK) == now ? path : now | path & OF_VIRTUAL;
    }

    @ForceInline
    private static long enter(long[] places, long place, long[] table, long entry, long was, long direct) {
        long positions = U.getLong(table, entry + 8);
        long hit = (int) (positions >>> 32) | (int) was << 1 & (int) positions; // both halves are positions
        // The innermost positions, shifted by one: a position that is reached directly is never the first.
        long candidates = was >>> PATH_POSITIONS - 1 & direct;
        if (candidates != 0) {
            hit |= SondeHooksDirect.callerOf(places, place) << 1 & candidates;
        }
        U.putLong(places, place + PATH, was & ~(POSITIONS << PATH_POSITIONS) | hit << PATH_POSITIONS | hit);
        return was;
    }

    /** Uses the mark that the table has had since it was created. */
    @DontInline
    private static long arriveAnew(long[] places, long place, long[] table, long entry) {
        long direct = U.getLong(table, entry + 16);
        return enter(places, place, table, entry, of(places, place, direct & MARK), direct);
    }

    /** A thread without a place has no prefix, and needs no place for an anchor that begins no sequence. */
    @DontInline
    private static long arriveElsewhere(long tid, long[] table, long entry) {
        boolean begins = U.getLong(table, entry + 8) >>> 32 != 0;
        int index = begins ? SondeHooksPlaces.claim(tid) : SondeHooksHandOff.find(tid);
        if (index < 0) {
            if (begins) {
                lose();
            }
            return 0;
        }
        long[] places = SondeHooksPlaces.table(index);
        long place = SondeHooksPlaces.offset(index);
        if (places == null || U.getLong(places, place) != tid) {
            return 0; // the arena was retired in the meantime
        }
        return arriveAnew(places, place, table, entry);
    }

    @DontInline
    private static void departElsewhere(long tid, long was) {
        int index = SondeHooksPlaces.find(tid);
        long[] places = SondeHooksPlaces.table(index);
        long place = SondeHooksPlaces.offset(index);
        if (index >= 0 && places != null && U.getLong(places, place) == tid && isOfNow(places, place, was)) {
            U.putLong(places, place + PATH, was);
            SondeHooksPlaces.giveUpIfEmpty(places, place);
        }
    }

    /** Counts a context for which there is no room. */
    @DontInline
    static void lose() {
        count(HEADER_CONTEXTS_LOST);
    }

    /** Gives the new owner of a place a path. */
    static void set(long[] places, long place, long path) {
        U.putLong(places, place + PATH, U.getLong(places, place + PATH) & OF_VIRTUAL | path);
    }

    /** Adds one to a counter of the arena's header. The calling thread may have no place. */
    static void count(int counter) {
        U.getAndAddLong(SondeHooksTree.GATE, SondeHooksTree.GATE_AT, 1);
        try {
            long b = SondeHooks.base;
            if (b != 0) {
                U.getAndAddLong(null, b + counter, 1);
            }
        } finally {
            U.getAndAddLong(SondeHooksTree.GATE, SondeHooksTree.GATE_AT, -1);
        }
    }
}
