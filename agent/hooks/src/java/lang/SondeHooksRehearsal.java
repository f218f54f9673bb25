package java.lang;

import static java.lang.SondeHooks.TID;
import static java.lang.SondeHooks.U;
import static java.lang.SondeHooksPlaces.BLOCK;
import static java.lang.SondeHooksPlaces.BUSY;
import static java.lang.SondeHooksPlaces.FREE;
import static java.lang.SondeHooksPlaces.TOKEN;
import static sonde.layout.Layout.BLOCK_NEARBY;
import static sonde.layout.Layout.CALIBRATION_ID;
import static sonde.layout.Layout.FLAT;
import static sonde.layout.Layout.NEARBY;
import static sonde.layout.Layout.ON;
import static sonde.layout.Layout.TOKEN_EPOCH_SHIFT;
import static sonde.layout.Layout.WATCH_PURE;
import static sonde.layout.Layout.WATCH_WORDS;

/**
 * Calls hooks as those of a pack are called, while the program begins: else they are interpreted for most of its start, as
 * compilers are slow to come to them then. What a compiler does not see happen it leaves out, and code from which
 * something is left out is thrown away when that happens; so all is done that happens to programs.
 */
final class SondeHooksRehearsal {
    /** An id that nothing has. */
    private static final int NOBODY = 3;
    /** What happens seldom is compiled by itself only when the program has it happen often. */
    private static final int SELDOM = 32;

    private SondeHooksRehearsal() {
    }

    /**
     * Makes calls that end at once, of a thread that must be muted, and tells how many nanoseconds they took; negative where no
     * spot can be rehearsed. Compilers come for the outermost methods then, and compile with them all that is inlined: that
     * is never interpreted, nor compiled by itself.
     */
    static long summon(int calls) {
        if (!add(SondeHooksWatch.watches)) {
            return -1;
        }
        long began = System.nanoTime();
        for (int i = 0; i < calls; i++) {
            SondeHooksWatch.exit(SondeHooksWatch.enter(CALIBRATION_ID));
        }
        return System.nanoTime() - began;
    }

    /** Makes so many calls that count as made to calibrate, unless the clock passes the deadline. The thread must not be muted. */
    static void run(int calls, long deadline) {
        long[] table = SondeHooksWatch.watches;
        if (!add(table)) {
            return;
        }
        for (int i = 1; i <= calls && SondeHooksWatch.watches == table && System.nanoTime() - deadline < 0; i++) {
            long outer = SondeHooksWatch.enter(CALIBRATION_ID);
            if (i % SELDOM == 0) {
                missNode();
                SondeHooksWatch.exit(SondeHooksWatch.enter(NOBODY)); // as one that is switched off, or not where one looks first
            }
            SondeHooksWatch.exit(SondeHooksWatch.enter(CALIBRATION_ID));
            SondeHooksWatch.exit(outer);
            if (i % SELDOM == 0) {
                enterMuted();
                leavePlace();
            }
        }
    }

    /** Adds a spot that is like the first plain one, unless it is there; false where there is none, or no room. */
    private static boolean add(long[] table) {
        int like = plain(table);
        if (like < 0) {
            return false;
        }
        int at = CALIBRATION_ID * WATCH_WORDS & table.length - 1;
        for (int looks = table.length / WATCH_WORDS / 2; looks > 0; looks--) { // a longer search would not be like the program's
            if ((int) (table[at] >>> 32) == CALIBRATION_ID) {
                return true;
            }
            if (table[at] == 0) {
                if (!isEmptyElsewhere(table, at)) {
                    return false;
                }
                table[at + 3] = table[like + 3];
                U.putLongRelease(table, SondeHooksPlaces.LONGS + 8L * at, (long) CALIBRATION_ID << 32 | table[like] & 0xffffffffL);
                return true;
            }
            at = at + WATCH_WORDS & table.length - 1;
        }
        return false;
    }

    /** Whether an entry other than this one is empty. One must stay so: a search for an id that has none ends there. */
    private static boolean isEmptyElsewhere(long[] table, int taken) {
        for (int at = 0; at < table.length; at += WATCH_WORDS) {
            if (at != taken && table[at] == 0) {
                return true;
            }
        }
        return false;
    }

    /** A spot that acts everywhere, and of which calls are counted or timed by method alone. */
    private static int plain(long[] table) {
        for (int at = 0; table != null && at < table.length; at += WATCH_WORDS) {
            if ((table[at] & (ON | FLAT)) == (ON | FLAT) && table[at + 1] == 0 && (table[at + 3] & ~(long) WATCH_PURE) == 0) {
                return at;
            }
        }
        return -1;
    }

    private static void enterMuted() {
        SondeHooksControl.mute();
        try {
            SondeHooksWatch.exit(SondeHooksWatch.enter(CALIBRATION_ID));
        } finally {
            SondeHooksControl.unmute();
        }
    }

    /** Has the node of the calls be searched for. */
    private static void missNode() {
        int index = SondeHooksPlaces.find(U.getLong(Thread.currentThread(), TID));
        long[] places = SondeHooksPlaces.table(index);
        if (index < 0 || places == null) {
            return;
        }
        long place = SondeHooksPlaces.offset(index);
        long then = U.getLong(places, place + TOKEN) >>> TOKEN_EPOCH_SHIFT;
        U.putLongOpaque(places, place + BUSY, 1);
        try {
            long b = SondeHooks.base;
            if (b != 0 && SondeHooks.epoch == then) {
                U.putInt(null, b + U.getLong(places, place + BLOCK) + BLOCK_NEARBY + ((CALIBRATION_ID & NEARBY - 1) << 2), 0);
            }
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
        }
    }

    /** Gives the place of the calling thread up, which has no call under way: the next is that of a thread that is new. */
    private static void leavePlace() {
        int index = SondeHooksPlaces.find(U.getLong(Thread.currentThread(), TID));
        long[] places = SondeHooksPlaces.table(index);
        if (index >= 0 && places != null) {
            U.putLongRelease(places, SondeHooksPlaces.offset(index), FREE);
        }
    }
}
