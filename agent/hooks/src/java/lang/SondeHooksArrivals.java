package java.lang;

import static java.lang.SondeHooks.U;
import static java.lang.SondeHooks.at;
import static java.lang.SondeHooksPlaces.BLOCK;
import static java.lang.SondeHooksPlaces.BUSY;
import static java.lang.SondeHooksPlaces.FRESH;
import static java.lang.SondeHooksPlaces.TOKEN;
import static java.lang.SondeHooksPlaces.VIRTUAL;
import static java.lang.SondeHooksPlaces.WORD;
import static sonde.layout.Layout.*;

import jdk.internal.vm.annotation.DontInline;

/**
 * Calls that wait, before they are counted or timed, until Sonde has put hooks into the methods that they may call.
 * No other hook waits. The time limit is in the arena.
 *
 * <p>A waiting thread is marked as busy only while it reads, so the arena can be retired; then the thread
 * continues at once. No method is called that could be woven.
 */
final class SondeHooksArrivals {
    /** Results of a wait: Sonde has answered; the time has passed; the arena is gone. */
    static final int ANSWERED = 1;
    static final int LATE = 2;
    static final int GONE = 3;

    private static final long PAUSE_NANOS = 100000;
    /** If a park takes less time, the thread is interrupted and does not park. */
    private static final long NO_PAUSE_NANOS = 10000;
    private static final int SPINS = 200;
    /** The limit of all waits, whatever the arena says. */
    private static final long MOST_NANOS = 60000000000L;
    private static final byte[] NO_TEXT = {};

    private SondeHooksArrivals() {
    }

    /** Lets the agent initialise the class, so that no hook does. */
    static void prepare() {
    }

    /** Reports a call, waits, and begins it with the setting that it then has. */
    @DontInline
    static long begin(long[] places, long place, int id) {
        long start = System.nanoTime();
        SondeHooksAbsence.begin(places, place);
        int outcome;
        try {
            outcome = announce(places, place, id, NO_TEXT, start);
        } finally {
            SondeHooksAbsence.end(places, place, System.nanoTime() - start);
        }
        if (outcome != GONE) {
            int probe = setting(id);
            if ((probe & ON) != 0) {
                if (outcome == LATE) {
                    miss(places, place, id, probe);
                }
                return SondeHooks.begin(id, probe & ~DISCOVER);
            }
        }
        SondeHooksPlaces.giveUpIfEmpty(places, place);
        return 0;
    }

    /** The setting of a method now, 0 if it has none. */
    private static int setting(int id) {
        long[] table = SondeHooks.probes;
        for (int i = 0; table != null && i < table.length; i++) {
            long probe = table[id + i & table.length - 1];
            if (probe == 0) {
                break;
            }
            if ((int) (probe >>> 32) == id) {
                return (int) probe;
            }
        }
        return 0;
    }

    /** Records that a call continues whose callees may have no hooks yet; with id 0, the current call of the thread. */
    static void miss(long[] places, long place, int id, int probe) {
        int then = epochOf(places, place);
        U.putLongOpaque(places, place + BUSY, 1);
        try {
            long b = SondeHooks.base;
            if (b != 0 && SondeHooks.epoch == then && (U.getLong(places, place + WORD) & FRESH) == 0) {
                long block = b + U.getLong(places, place + BLOCK);
                int ref = id == 0 ? U.getInt(null, block + BLOCK_CURRENT) : SondeHooksTree.search(b, block, id, probe);
                if (ref != 0) {
                    long node = at(b, ref);
                    U.putLong(null, node + NODE_MISSED, U.getLong(null, node + NODE_MISSED) + 1);
                }
            }
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
        }
    }

    private static int epochOf(long[] places, long place) {
        return (int) (U.getLong(places, place + TOKEN) >>> TOKEN_EPOCH_SHIFT);
    }

    /** Reports a call, or with id 0 a member, to Sonde and waits for the answer. */
    static int announce(long[] places, long place, int id, byte[] text, long start) {
        long ticket = offer(places, place, id, text);
        if (ticket <= 0) {
            return ticket == 0 ? LATE : GONE;
        }
        return await(places, place, epochOf(places, place), ticket, start);
    }

    /** Reports a caller to Sonde and does not wait; false if there is no room. */
    static boolean tell(long[] places, long place, int number, byte[] text) {
        return offer(places, place, number, text) > 0;
    }

    /** Writes an arrival; returns its ticket, 0 if there is no room, negative if the arena is gone. */
    private static long offer(long[] places, long place, int id, byte[] text) {
        U.putLongOpaque(places, place + BUSY, 1);
        try {
            long b = SondeHooks.base;
            return b != 0 && SondeHooks.epoch == epochOf(places, place) ? post(b, id, text) : -1;
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
        }
    }

    private static long post(long b, int id, byte[] text) {
        int ref = U.getIntVolatile(null, b + HEADER_ARRIVALS);
        long before = 0;
        boolean isTaken = false;
        while (ref != 0 && text.length <= ARRIVAL_SIZE - ARRIVAL_TEXT && !isTaken) {
            before = U.getLongVolatile(null, b + HEADER_ARRIVALS_NEXT);
            if (before - U.getLongVolatile(null, b + HEADER_ARRIVALS_ANSWERED) >= ARRIVALS) {
                break; // entries that are not answered are never overwritten
            }
            isTaken = U.compareAndSetLong(null, b + HEADER_ARRIVALS_NEXT, before, before + 1);
        }
        if (!isTaken) {
            if (id == 0) { // others are reported again by the next call, and a waiting call is counted as missed
                U.getAndAddLong(null, b + HEADER_ARRIVALS_LOST, 1);
            }
            return 0;
        }
        long slot = at(b, ref) + (before & ARRIVALS - 1) * ARRIVAL_SIZE;
        U.putInt(null, slot + ARRIVAL_ID, id);
        U.putInt(null, slot + ARRIVAL_LENGTH, text.length);
        for (int i = 0; i < text.length; i++) {
            U.putByte(null, slot + ARRIVAL_TEXT + i, text[i]);
        }
        U.putLongRelease(null, slot + ARRIVAL_TICKET, before + 1);
        return before + 1;
    }

    private static int await(long[] places, long place, int then, long ticket, long start) {
        boolean virtual = (U.getLong(places, place + WORD) & VIRTUAL) != 0;
        boolean hasParked = false;
        int outcome = look(places, place, then, ticket, start, true);
        while (outcome == 0) {
            long before = System.nanoTime();
            U.park(false, PAUSE_NANOS);
            hasParked = true;
            if (System.nanoTime() - before < NO_PAUSE_NANOS) {
                pause(virtual);
            }
            outcome = look(places, place, then, ticket, start, false);
        }
        if (hasParked && !virtual) {
            // Waiting may have used a permit that the program needs; an extra permit is harmless.
            U.unpark(Thread.currentThread());
        }
        return outcome;
    }

    /** For a thread that cannot park. A virtual one must not yield: it would run the program's scheduler here. */
    private static void pause(boolean virtual) {
        if (!virtual) {
            Thread.yield();
            return;
        }
        for (int i = 0; i < SPINS; i++) {
            U.getLongVolatile(SondeHooksTree.GATE, SondeHooksTree.GATE_AT);
        }
    }

    /** The result of a ticket, 0 while it is open. */
    private static int look(long[] places, long place, int then, long ticket, long start, boolean isNew) {
        U.putLongOpaque(places, place + BUSY, 1);
        try {
            long b = SondeHooks.base;
            if (b == 0 || SondeHooks.epoch != then) {
                return GONE;
            }
            long answered = U.getLongVolatile(null, b + HEADER_ARRIVALS_ANSWERED);
            if (answered >= ticket) {
                return ANSWERED;
            }
            // While Sonde is late, no further call waits: a program is stopped once, not at each of its calls.
            long late = U.getLongVolatile(null, b + HEADER_ARRIVALS_LATE);
            if (isNew && late > answered) {
                return LATE;
            }
            long patience = U.getLongVolatile(null, b + HEADER_WAIT_NANOS);
            long waited = System.nanoTime() - start;
            if (waited < patience && waited < MOST_NANOS) {
                return 0;
            }
            while (late < ticket && !U.compareAndSetLong(null, b + HEADER_ARRIVALS_LATE, late, ticket)) {
                late = U.getLongVolatile(null, b + HEADER_ARRIVALS_LATE);
            }
            return LATE;
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
        }
    }
}
