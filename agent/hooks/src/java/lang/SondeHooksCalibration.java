package java.lang;

import static java.lang.SondeHooks.TID;
import static java.lang.SondeHooks.U;
import static java.lang.SondeHooks.at;
import static java.lang.SondeHooksPlaces.BLOCK;
import static java.lang.SondeHooksPlaces.BUSY;
import static java.lang.SondeHooksPlaces.TOKEN;
import static java.lang.SondeHooksPlaces.WORD;
import static sonde.layout.Layout.*;

import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * Methods with a known body, each without and with hooks, to measure the cost of hooks. The methods with hooks are
 * written as weaving the template of agent/live would do. None is inlined into the loop that calls it.
 */
final class SondeHooksCalibration {
    private static final int DEPENDENT = 1;
    private static final int INDEPENDENT = 2;
    private static final int NESTED = 3;
    /** Calls with and without hooks alternate, so that a change of the processor's frequency affects both. */
    private static final int TURNS = 8;
    /** Limits a turn, so that the clock is read often enough. */
    private static final int TURN_STEPS = 1000000;

    /** Uses the results of the bodies, so that compilers do not remove them. */
    private static volatile long sink;

    private SondeHooksCalibration() {
    }

    /** The index of the setting in a switch table, negative if there is none. */
    static int entry(long[] table) {
        for (int i = 0; table != null && i < table.length; i++) {
            int at = CALIBRATION_ID + i & table.length - 1;
            if (table[at] == 0) {
                break;
            }
            if ((int) (table[at] >>> 32) == CALIBRATION_ID) {
                return at;
            }
        }
        return -1;
    }

    /** Returns false if the deadline has passed, or the calling thread has no room in the arena. */
    static boolean run(int rounds, int body, int steps, long deadline, long[] into) {
        SondeHooks.exit(SondeHooks.begin(CALIBRATION_ID, ON | FLAT)); // gives the thread a place and a block
        int index = SondeHooksPlaces.find(U.getLong(Thread.currentThread(), TID));
        long[] places = SondeHooksPlaces.table(index);
        if (index < 0 || places == null) {
            return false;
        }
        long place = SondeHooksPlaces.offset(index);
        long outside = U.getLong(places, place + WORD);
        U.putLong(places, place + WORD, outside + 1); // hooks that act only inside a context must act
        try {
            return takeTurns(rounds, body, steps, deadline, into, places, place);
        } finally {
            SondeHooksPlaces.leaveContext(places, place, outside);
        }
    }

    private static boolean takeTurns(int rounds, int body, int steps, long deadline, long[] into, long[] places,
            long place) {
        long plain = 0;
        long hooked = 0;
        long before = total(places, place, NODE_SELF);
        long timed = total(places, place, NODE_TIMED);
        int stepsOfCall = body == NESTED ? 2 * steps : steps;
        int turn = Math.max(1, Math.min((rounds + TURNS - 1) / TURNS, TURN_STEPS / (stepsOfCall + 1)));
        long value = 1;
        for (int left = rounds; left > 0; left -= turn) {
            int calls = Math.min(turn, left);
            long start = System.nanoTime();
            value = plain(calls, body, steps, value);
            long middle = System.nanoTime();
            value = hooked(calls, body, steps, value);
            long end = System.nanoTime();
            plain += middle - start;
            hooked += end - middle;
            if (end - deadline > 0) {
                return false;
            }
        }
        sink = value;
        into[0] = plain;
        into[1] = hooked;
        into[2] = total(places, place, NODE_SELF) - before;
        into[3] = total(places, place, NODE_TIMED) - timed;
        return true;
    }

    /** A sum over the outer calibration calls, 0 if there is no room for it; over all of them if they are flat. */
    private static long total(long[] places, long place, int sum) {
        long then = U.getLong(places, place + TOKEN) >>> TOKEN_EPOCH_SHIFT;
        U.putLongOpaque(places, place + BUSY, 1);
        try {
            long b = SondeHooks.base;
            if (b == 0 || SondeHooks.epoch != then) {
                return 0;
            }
            long block = b + U.getLong(places, place + BLOCK);
            int ref = SondeHooksTree.child(b, block, U.getInt(null, block + BLOCK_ROOT), CALIBRATION_ID, 0);
            return ref == 0 ? 0 : U.getLong(null, at(b, ref) + sum);
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
        }
    }

    @DontInline
    private static long plain(int calls, int body, int steps, long value) {
        if (body == DEPENDENT) {
            for (int i = 0; i < calls; i++) {
                value = plainSteps(value, steps);
            }
        } else if (body == INDEPENDENT) {
            for (int i = 1; i <= calls; i++) {
                value += plainSteps(i, steps);
            }
        } else if (body == NESTED) {
            for (int i = 0; i < calls; i++) {
                value = plainParent(value, steps);
            }
        } else {
            for (int i = 0; i < calls; i++) {
                value = plainNothing(value);
            }
        }
        return value;
    }

    @DontInline
    private static long hooked(int calls, int body, int steps, long value) {
        if (body == DEPENDENT) {
            for (int i = 0; i < calls; i++) {
                value = hookedSteps(value, steps);
            }
        } else if (body == INDEPENDENT) {
            for (int i = 1; i <= calls; i++) {
                value += hookedSteps(i, steps);
            }
        } else if (body == NESTED) {
            for (int i = 0; i < calls; i++) {
                value = hookedParent(value, steps);
            }
        } else {
            for (int i = 0; i < calls; i++) {
                value = hookedNothing(value);
            }
        }
        return value;
    }

    /** Each step depends on the previous one, so that no compiler can shorten them. */
    @ForceInline
    private static long steps(long value, int steps) {
        for (int i = 0; i < steps; i++) {
            value ^= value << 13;
            value ^= value >>> 7;
            value ^= value << 17;
        }
        return value;
    }

    @DontInline
    private static long plainNothing(long value) {
        return value;
    }

    @DontInline
    private static long plainSteps(long value, int steps) {
        return steps(value, steps);
    }

    @DontInline
    private static long plainParent(long value, int steps) {
        return plainSteps(steps(value, steps), steps);
    }

    @DontInline
    private static long hookedNothing(long value) {
        long token = SondeHooks.enter(CALIBRATION_ID);
        long result;
        try {
            result = value;
        } catch (Throwable t) {
            try {
                SondeHooks.fail(token, CALIBRATION_ID);
            } catch (StackOverflowError full) {
                // As in the template.
            }
            throw t;
        }
        try {
            SondeHooks.exit(token);
        } catch (StackOverflowError full) {
            // As in the template.
        }
        return result;
    }

    @DontInline
    private static long hookedSteps(long value, int steps) {
        long token = SondeHooks.enter(CALIBRATION_ID);
        long result;
        try {
            result = steps(value, steps);
        } catch (Throwable t) {
            try {
                SondeHooks.fail(token, CALIBRATION_ID);
            } catch (StackOverflowError full) {
                // As in the template.
            }
            throw t;
        }
        try {
            SondeHooks.exit(token);
        } catch (StackOverflowError full) {
            // As in the template.
        }
        return result;
    }

    @DontInline
    private static long hookedParent(long value, int steps) {
        long token = SondeHooks.enter(CALIBRATION_ID);
        long result;
        try {
            result = hookedSteps(steps(value, steps), steps);
        } catch (Throwable t) {
            try {
                SondeHooks.fail(token, CALIBRATION_ID);
            } catch (StackOverflowError full) {
                // As in the template.
            }
            throw t;
        }
        try {
            SondeHooks.exit(token);
        } catch (StackOverflowError full) {
            // As in the template.
        }
        return result;
    }
}
