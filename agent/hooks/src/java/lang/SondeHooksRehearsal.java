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
 * Calls the hooks of a pack while the program starts, so that they are compiled early: otherwise they are interpreted for
 * most of the start. A compiler leaves out branches that were never taken, and discards the code when one is taken; so
 * the calls take all branches that programs take.
 */
final class SondeHooksRehearsal {
    /** An unused id. */
    private static final int NOBODY = 3;
    /** How often rare branches are taken. */
    private static final int SELDOM = 32;

    private SondeHooksRehearsal() {
    }

    /**
     * Makes calls that end at once, in a thread that must be muted; returns their time in nanoseconds, negative if no spot
     * can be used. Compilers then compile the outermost methods with everything that is inlined into them, which is never
     * interpreted or compiled separately.
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

    /** Makes calibration calls until the deadline at most. The thread must not be muted. */
    static void run(int calls, long deadline) {
        long[] table = SondeHooksWatch.watches;
        if (!add(table)) {
            return;
        }
        for (int i = 1; i <= calls && SondeHooksWatch.watches == table && System.nanoTime() - deadline < 0; i++) {
            long outer = SondeHooksWatch.enter(CALIBRATION_ID);
            if (i % SELDOM == 0) {
                missNode();
                SondeHooksWatch.exit(SondeHooksWatch.enter(NOBODY)); // as a spot that is off, or is not at its first index
            }
            SondeHooksWatch.exit(SondeHooksWatch.enter(CALIBRATION_ID));
            SondeHooksWatch.exit(outer);
            if (i % SELDOM == 0) {
                enterMuted();
                leavePlace();
            }
        }
    }

    /** Adds a spot like the first plain one, unless it exists; false if there is none, or no room. */
    private static boolean add(long[] table) {
        int like = plain(table);
        if (like < 0) {
            return false;
        }
        int at = CALIBRATION_ID * WATCH_WORDS & table.length - 1;
        for (int looks = table.length / WATCH_WORDS / 2; looks > 0; looks--) { // the program does not search longer
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

    /** Whether another entry is empty. One must stay empty: it ends the search for an unknown id. */
    private static boolean isEmptyElsewhere(long[] table, int taken) {
        for (int at = 0; at < table.length; at += WATCH_WORDS) {
            if (at != taken && table[at] == 0) {
                return true;
            }
        }
        return false;
    }

    /** A spot that acts everywhere, and whose calls are counted or timed only by method. */
    private static int plain(long[] table) {
        for (int at = 0; table != null && at < table.length; at += WATCH_WORDS) {
            if ((table[at] & (ON | FLAT)) == (ON | FLAT) && table[at + 1] == 0 && (table[at + 3] & ~(long) WATCH_PURE) == 0) {
                return at;
            }
        }
        return -1;
    }

    private static void enterMuted() {
        SondeHooksControl.mute(U);
        try {
            SondeHooksWatch.exit(SondeHooksWatch.enter(CALIBRATION_ID));
        } finally {
            SondeHooksControl.unmute(U);
        }
    }

    /** Makes the next call search for its node. */
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

    /** Gives up the place of the calling thread, which has no running call: its next call is like that of a new thread. */
    private static void leavePlace() {
        int index = SondeHooksPlaces.find(U.getLong(Thread.currentThread(), TID));
        long[] places = SondeHooksPlaces.table(index);
        if (index >= 0 && places != null) {
            U.putLongRelease(places, SondeHooksPlaces.offset(index), FREE);
        }
    }
}
