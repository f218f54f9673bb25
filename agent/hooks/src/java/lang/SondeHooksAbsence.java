package java.lang;

import static java.lang.SondeHooks.U;
import static java.lang.SondeHooks.at;
import static java.lang.SondeHooksPlaces.BLOCK;
import static java.lang.SondeHooksPlaces.BUSY;
import static java.lang.SondeHooksPlaces.FRESH;
import static java.lang.SondeHooksPlaces.TOKEN;
import static java.lang.SondeHooksPlaces.WORD;
import static sonde.layout.Layout.*;

/** Time for which Sonde stops a thread inside a call. It is subtracted from the times of calls. */
final class SondeHooksAbsence {
    private SondeHooksAbsence() {
    }

    /** Lets the agent initialise the class, so that no hook does. */
    static void prepare() {
    }

    /**
     * Marks, until {@link #end}, that the calling thread waits for Sonde in its current call: other stops during this
     * wait are part of it, and must not be subtracted again.
     */
    static void begin(long[] places, long place) {
        long then = U.getLong(places, place + TOKEN) >>> TOKEN_EPOCH_SHIFT;
        U.putLongOpaque(places, place + BUSY, 1);
        try {
            long b = SondeHooks.base;
            // A fresh thread has no running call, and its block may still have those of another thread.
            if (b != 0 && SondeHooks.epoch == then && (U.getLong(places, place + WORD) & FRESH) == 0) {
                long block = b + U.getLong(places, place + BLOCK);
                U.putInt(null, block + BLOCK_FLAGS, U.getInt(null, block + BLOCK_FLAGS) | BLOCK_AWAY);
            }
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
        }
    }

    /**
     * Records time for which Sonde stopped the calling thread, which must not be in a busy section, and ends
     * {@link #begin}.
     */
    static void end(long[] places, long place, long nanos) {
        long then = U.getLong(places, place + TOKEN) >>> TOKEN_EPOCH_SHIFT;
        U.putLongOpaque(places, place + BUSY, 1);
        try {
            long b = SondeHooks.base;
            if (b != 0 && SondeHooks.epoch == then) {
                long block = b + U.getLong(places, place + BLOCK);
                if ((U.getLong(places, place + WORD) & FRESH) != 0) {
                    block = SondeHooksTree.settle(b, places, place);
                }
                if (block != 0) {
                    try {
                        adjust(b, block, nanos);
                    } finally {
                        U.putInt(null, block + BLOCK_FLAGS, U.getInt(null, block + BLOCK_FLAGS) & ~BLOCK_AWAY);
                    }
                }
            }
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
        }
    }

    private static void adjust(long b, long block, long nanos) {
        int depth = U.getInt(null, block + BLOCK_DEPTH);
        if (depth > 0) {
            long frame = SondeHooksTree.frame(b, block, depth - 1);
            if ((U.getInt(null, frame + FRAME_FLAGS) & FRAME_TIMED) != 0) {
                U.putLong(null, frame + FRAME_CHILD, U.getLong(null, frame + FRAME_CHILD) + nanos);
                U.putLong(null, frame + FRAME_OTHER, U.getLong(null, frame + FRAME_OTHER) + nanos);
            }
        }
        int ref = SondeHooksTree.child(b, block, U.getInt(null, block + BLOCK_CURRENT), ADJUSTMENT_ID, 0);
        if (ref != 0) {
            long node = at(b, ref);
            U.putLong(null, node + NODE_CALLS, U.getLong(null, node + NODE_CALLS) + 1);
            U.putLong(null, node + NODE_TIMED, U.getLong(null, node + NODE_TIMED) + 1);
            U.putLong(null, node + NODE_NANOS, U.getLong(null, node + NODE_NANOS) + nanos);
            U.putLong(null, node + NODE_SELF, U.getLong(null, node + NODE_SELF) + nanos);
        }
    }
}
