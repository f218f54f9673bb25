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
 * What methods call that are elements of sequences of callers. A thread's path says which prefixes of sequences lie
 * on its stack: the elements of all sequences have a position each, a bit. It is kept in the thread's place, so on
 * the heap: the arena is not touched.
 *
 * <pre>
 *   63  62    56 55          28 27           0
 * +----+--------+--------------+--------------+   virtual: the thread is
 * | v. |  mark  |  innermost   |  somewhere   |   innermost: prefixes that end with the innermost anchor's own frame
 * +----+--------+--------------+--------------+   somewhere: all that are matched
 * </pre>
 *
 * <p>An entry keeps the path there was in a variable of the method; the exit puts it back, and with it heals
 * whatever exits further in have missed. The mark tells paths of now from those of an earlier arena, and of a time
 * when positions stood for other elements: an exit that comes too late changes nothing.
 */
public final class SondeHooksPath {
    static final long POSITIONS = (1L << PATH_POSITIONS) - 1;
    static final int MARK_SHIFT = 2 * PATH_POSITIONS;
    private static final int MARKS = 127;
    static final long PREFIXES = (1L << MARK_SHIFT) - 1;
    /** Of the path of a virtual thread. */
    static final long OF_VIRTUAL = 1L << 63;
    static final long MARK = ~(PREFIXES | OF_VIRTUAL);

    /** Where a path, and an entry of the table of watches, has it; never 0. */
    static volatile long mark = 1L << MARK_SHIFT;

    private SondeHooksPath() {
    }

    /** Has the class initialised by the agent, not by a hook. */
    static void prepare() {
    }

    /** Has the paths of all threads begin anew, by tables that are made from now on. */
    static void renew() {
        mark = ((mark >>> MARK_SHIFT) % MARKS + 1) << MARK_SHIFT;
    }

    /** Tells that an anchor is entered; returns what is to be handed to {@link #depart}, 0 where that has nothing to do. */
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

    /** Has the path be what it was before. */
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

    /** Whether a path has the mark of the one there is. */
    @ForceInline
    private static boolean isOfNow(long[] places, long place, long path) {
        return (U.getLong(places, place + PATH) ^ path) >>> MARK_SHIFT == 0;
    }

    /** The path of a place's owner, empty where it has another mark. */
    @ForceInline
    static long of(long[] places, long place, long now) {
        long path = U.getLong(places, place + PATH);
        return (path & MARK) == now ? path : now | path & OF_VIRTUAL;
    }

    @ForceInline
    private static long enter(long[] places, long place, long[] table, long entry, long was, long direct) {
        long positions = U.getLong(table, entry + 8);
        long hit = (int) (positions >>> 32) | (int) was << 1 & (int) positions; // both halves are positions
        // The innermost ones, one further: no position that is reached directly is the first of all.
        long candidates = was >>> PATH_POSITIONS - 1 & direct;
        if (candidates != 0) {
            hit |= SondeHooksDirect.callerOf(places, place) << 1 & candidates;
        }
        U.putLong(places, place + PATH, was & ~(POSITIONS << PATH_POSITIONS) | hit << PATH_POSITIONS | hit);
        return was;
    }

    /** The table has the mark of when it was made. */
    @DontInline
    private static long arriveAnew(long[] places, long place, long[] table, long entry) {
        long direct = U.getLong(table, entry + 16);
        return enter(places, place, table, entry, of(places, place, direct & MARK), direct);
    }

    /** Who has no place has no prefix either, and needs none for an anchor that begins none. */
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
            return 0; // the arena was retired meanwhile
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

    /** Has the owner of a place have a path, which is nobody's yet. */
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
