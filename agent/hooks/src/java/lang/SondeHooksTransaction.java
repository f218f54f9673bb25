package java.lang;

import static java.lang.SondeHooks.U;
import static java.lang.SondeHooks.at;
import static java.lang.SondeHooksPlaces.BLOCK;
import static java.lang.SondeHooksPlaces.BUSY;
import static java.lang.SondeHooksPlaces.CONTEXT;
import static java.lang.SondeHooksPlaces.FRESH;
import static java.lang.SondeHooksPlaces.TOKEN;
import static java.lang.SondeHooksPlaces.VIRTUAL;
import static java.lang.SondeHooksPlaces.WORD;
import static java.lang.SondeHooksTrace.ID;
import static java.lang.SondeHooksTrace.TRANSACTION;
import static sonde.layout.Layout.*;

import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * The beginning and the end of calls that are TRACED or LATE, and of those that are counted by a label.
 *
 * <p>A transaction begins with a call of a root outside every other, and ends with it. A traced call is timed and
 * has a frame. In the upper half of the frame's flags is the call's depth; its context holds the position of
 * the ring when the call began (32 bits), the number of its tags (16 bits), and the number of calls with reserved room
 * before it (16 bits). Its end restores these, so that missed exits have no effect.
 *
 * <p>A call without room is only counted, and does not read the clock.
 */
final class SondeHooksTransaction {
    private static final int RESERVED_SHIFT = 48;

    private SondeHooksTransaction() {
    }

    /** Lets the agent initialise the class, so that no hook does. */
    static void prepare() {
    }

    /**
     * Counts a traced call that finds its ring full, the common case for a method that is called more often than Sonde can
     * read. Returns false, and does nothing, in all other cases.
     */
    @ForceInline
    static boolean isDropped(long[] places, long place, long word, int id, int probe) {
        boolean isInside = U.getLong(places, place + TRANSACTION) != 0;
        if ((probe & (TRACED | FLAT | LATE | SAMPLED)) != (TRACED | FLAT) || (word & (FRESH | VIRTUAL)) != 0
                || !isInside && (probe & (ROOT | INSIDE)) != ROOT) {
            return false;
        }
        long then = U.getLong(places, place + TOKEN) >>> TOKEN_EPOCH_SHIFT;
        U.putLongOpaque(places, place + BUSY, 1);
        try {
            long b = SondeHooks.base;
            if (b == 0 || SondeHooks.epoch != then) {
                return false;
            }
            long block = b + U.getLong(places, place + BLOCK);
            long node = at(b, U.getInt(null, block + BLOCK_NEARBY + ((id & NEARBY - 1) << 2)));
            int ref = U.getInt(null, block + BLOCK_RING);
            long ring = at(b, ref);
            if (U.getInt(null, node + NODE_ID) != id || ref == 0 || SondeHooksRing.hasRoom(ring, CALL_SIZE)
                    || isTooDeep(b, ring, probe)) {
                return false;
            }
            U.putLong(null, node + NODE_CALLS, U.getLong(null, node + NODE_CALLS) + 1);
            SondeHooksRing.miss(block, ring, isInside);
            return true;
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
        }
    }

    /**
     * Begins a call of the owner of a place, which is not muted.
     *
     * @param group 0, or the label below whose node the call is counted, without a calling context
     * @return its token, as from {@link SondeHooks#enter}
     */
    @DontInline
    static long begin(long[] places, long place, int id, int probe, int group) {
        long word = U.getLong(places, place + WORD);
        if ((probe & (TRACED | INSIDE)) == (TRACED | INSIDE)
                && ((word & CONTEXT) == 0 || U.getLong(places, place + TRANSACTION) == 0)) {
            SondeHooksPlaces.giveUpIfEmpty(places, place);
            return 0;
        }
        boolean mayOpen = (probe & ROOT) != 0 && ((word & FRESH) != 0 || U.getLong(places, place + TRANSACTION) == 0);
        long common = U.getLong(places, place + TOKEN);
        long token = 0;
        U.putLongOpaque(places, place + BUSY, 1);
        long b = SondeHooks.base;
        try {
            if (SondeHooks.epoch != (int) (common >>> TOKEN_EPOCH_SHIFT)) {
                b = 0;
            }
            if (b != 0) {
                long block = b + U.getLong(places, place + BLOCK);
                if ((word & FRESH) != 0) {
                    block = SondeHooksTree.settle(b, places, place);
                }
                int ref = block == 0 ? 0 : node(b, block, id, probe, group);
                if (ref != 0) {
                    token = step(b, block, ref, places, place, common, group != 0 ? probe | FLAT : probe);
                }
            }
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
        }
        if (token > TOKEN_COUNTED || word == 0 && token > 0) {
            if ((probe & TRACED) != 0 && token > TOKEN_COUNTED) {
                label(places, place, token, mayOpen);
            }
            return token;
        }
        SondeHooksPlaces.giveUpIfEmpty(places, place);
        if (token != 0 || b == 0) {
            return token;
        }
        return (probe & LATE) != 0 ? TOKEN_LATE : SondeHooksTree.spill(id);
    }

    /** Records the tags with which a traced call has begun, and the trace of others if it has opened a transaction. */
    private static void label(long[] places, long place, long token, boolean mayOpen) {
        SondeHooksState state = SondeHooksPlaces.state(places, place);
        if (state == null) {
            return;
        }
        if (mayOpen && state.tags.trace != null) {
            SondeHooksTrace.capture(token, VALUE_TRACE, state.tags.trace);
        }
        if (state.tags.hasValues()) {
            SondeHooksTrace.label(token, SondeHooksLabels.ofAll(places, place));
        }
    }

    /** The ref of a call's node, 0 if there is no room. */
    private static int node(long b, long block, int id, int probe, int group) {
        if (group != 0) {
            int parent = SondeHooksTree.child(b, block, U.getInt(null, block + BLOCK_ROOT), group, 0);
            return parent == 0 ? 0 : SondeHooksTree.child(b, block, parent, id, 0);
        }
        int ref = (probe & FLAT) != 0 ? U.getInt(null, block + BLOCK_NEARBY + ((id & NEARBY - 1) << 2))
                : U.getInt(null, SondeHooksTree.place(at(b, U.getInt(null, block + BLOCK_CURRENT)), id));
        return U.getInt(null, at(b, ref) + NODE_ID) == id ? ref : SondeHooksTree.search(b, block, id, probe);
    }

    /** Counts a call in its node, or pushes it on the stack; 0 if there is no room. */
    private static long step(long b, long block, int ref, long[] places, long place, long common, int probe) {
        long node = at(b, ref);
        boolean isDrawn = (probe & SAMPLED) != 0 && isDrawn(block, node, probe);
        int flags = 0;
        if ((probe & TIMED) != 0) {
            flags = FRAME_TIMED | FRAME_DRAWN;
        } else if (isDrawn) {
            flags = FRAME_TIMED | FRAME_DRAWN | FRAME_SAMPLED;
        }
        long ring = 0;
        if ((probe & TRACED) != 0) {
            long transaction = U.getLong(places, place + TRANSACTION);
            if (transaction != 0 || (probe & ROOT) != 0 && (isDrawn || (probe & SAMPLED) == 0)) {
                ring = SondeHooksRing.of(b, block, transaction & ID);
                if (ring != 0 && isTooDeep(b, ring, probe)) {
                    ring = 0;
                } else if (ring == 0 || !SondeHooksRing.hasRoom(ring, CALL_SIZE)) {
                    SondeHooksRing.miss(block, ring, transaction != 0);
                    ring = 0;
                    flags = 0;
                } else {
                    flags |= FRAME_TIMED | FRAME_DRAWN | FRAME_TRACED | (transaction == 0 ? FRAME_OPENED : 0);
                }
            }
        }
        if ((probe & LATE) != 0) {
            flags |= FRAME_TIMED | FRAME_LATE;
        }
        if (flags != 0 || (probe & (ROOT | TRACED)) == ROOT) {
            return push(b, block, ring, ref, flags, places, place, common, probe);
        }
        U.putLong(null, node + NODE_CALLS, U.getLong(null, node + NODE_CALLS) + 1);
        if ((probe & FLAT) != 0) {
            return TOKEN_COUNTED;
        }
        U.putInt(null, block + BLOCK_CURRENT, ref);
        return common | ref;
    }

    /** Whether this call of a node is sampled, one in k. */
    private static boolean isDrawn(long block, long node, int probe) {
        int skip = U.getInt(null, node + NODE_SKIP) - 1;
        U.putInt(null, node + NODE_SKIP, skip <= 0 ? SondeHooksTree.draw(block, probe) : skip);
        return skip <= 0;
    }

    /** Whether a call is too deep below its root to be traced. */
    @ForceInline
    private static boolean isTooDeep(long b, long ring, int probe) {
        int levels = U.getInt(null, b + HEADER_TRACE_LEVELS);
        return levels != 0 && U.getInt(null, ring + RING_DEPTH) > levels && (probe & (INSIDE | HERE)) != (INSIDE | HERE)
                || U.getLong(null, ring + RING_RESERVED) >= (long) MOST_TRACED * CALL_SIZE;
    }

    private static long push(long b, long block, long ring, int ref, int flags, long[] places, long place, long common,
            int probe) {
        int depth = U.getInt(null, block + BLOCK_DEPTH);
        long frame = SondeHooksTree.frame(b, block, depth);
        if (frame == 0) {
            if (depth >= SondeHooks.MOST_FRAMES) {
                SondeHooksTree.abandon(b, block, 0, 0, places, place); // deeper than any stack
            }
            return 0;
        }
        long node = at(b, ref);
        if ((flags & FRAME_LATE) == 0) {
            U.putLong(null, node + NODE_CALLS, U.getLong(null, node + NODE_CALLS) + 1);
        }
        if ((probe & FLAT) != 0) {
            flags |= FRAME_FLAT;
            U.putInt(null, node + NODE_ACTIVE, U.getInt(null, node + NODE_ACTIVE) + 1);
        } else {
            U.putInt(null, block + BLOCK_CURRENT, ref);
        }
        if ((probe & SPREAD) != 0) {
            flags |= FRAME_SPREAD;
        }
        if ((probe & CALLERS) != 0) {
            flags |= FRAME_QUOTA;
        }
        if (ring != 0) {
            flags |= (probe & HERE) == 0 ? FRAME_VALUES : 0;
            flags |= reserve(block, ring, frame, flags, places, place) << FRAME_DEPTH_SHIFT;
        } else if ((probe & (ROOT | TRACED)) == ROOT) {
            flags |= FRAME_ROOT;
            long word = U.getLong(places, place + WORD);
            U.putLong(null, frame + FRAME_CONTEXT, word);
            U.putLong(places, place + WORD, word + 1);
        }
        U.putLong(null, frame + FRAME_NODE, ref & 0xffffffffL | (long) flags << 32);
        U.putLong(null, frame + FRAME_CHILD, 0);
        U.putLong(null, frame + FRAME_OTHER, 0);
        U.putInt(null, block + BLOCK_DEPTH, depth + 1);
        long token = common | TOKEN_FRAMED | depth + 1;
        if ((flags & FRAME_TIMED) != 0) {
            token |= TOKEN_CLOCK;
            U.putLong(null, frame + FRAME_START, System.nanoTime());
        }
        return token;
    }

    /** Reserves room for the record of a call, and begins a transaction if it is a root; returns the depth of the call. */
    private static int reserve(long block, long ring, long frame, int flags, long[] places, long place) {
        long write = U.getLong(null, ring + RING_WRITE);
        long reserved = U.getLong(null, ring + RING_RESERVED);
        U.putLong(null, frame + FRAME_CONTEXT, write & 0xffffffffL | reserved / CALL_SIZE << RESERVED_SHIFT);
        if ((flags & FRAME_OPENED) != 0) {
            long opened = U.getLong(null, ring + RING_OPENED) + 1;
            long transaction = (long) U.getInt(null, block + BLOCK_RING) << 32 | opened & 0xffffffffL;
            U.putLong(null, ring + RING_OPENED, opened);
            U.putLong(null, ring + RING_BEGUN, write);
            SondeHooksRing.enter(ring, transaction, 0, 0);
            U.putLong(places, place + TRANSACTION, transaction);
            U.putLong(places, place + WORD, U.getLong(places, place + WORD) + 1);
        }
        if ((flags & FRAME_LATE) != 0) {
            U.putInt(null, ring + RING_HELD, U.getInt(null, ring + RING_HELD) + 1);
        }
        U.putLong(null, ring + RING_RESERVED, reserved + CALL_SIZE);
        int depth = U.getInt(null, ring + RING_DEPTH);
        U.putInt(null, ring + RING_DEPTH, depth + 1);
        return depth;
    }

    /** Writes the record of a traced call that has ended; its flags say how. */
    static void finish(long b, long block, long frame, long node, int flags, long nanos, int ended, long[] places,
            long place) {
        long ring = at(b, U.getInt(null, block + BLOCK_RING));
        long context = leave(ring, frame, flags);
        if ((flags & FRAME_OPENED) != 0) {
            ended |= CALL_ROOT;
        } else if (flags >>> FRAME_DEPTH_SHIFT == 0) {
            ended |= CALL_HANDED;
        }
        int label = (int) (context >>> 32) & 0xffff;
        long start = U.getLong(null, frame + FRAME_START);
        SondeHooksRing.call(ring, ended, U.getInt(null, node + NODE_ID), start, nanos, label);
        close(ring, flags, context, places, place);
    }

    /** Removes the values, or the transaction, of a call that is dropped or was not decided. */
    static void takeBack(long b, long block, long frame, int flags, long[] places, long place) {
        long ring = at(b, U.getInt(null, block + BLOCK_RING));
        long context = leave(ring, frame, flags);
        if ((flags & FRAME_OPENED) != 0) {
            SondeHooksRing.discard(ring, (int) context, U.getLong(places, place + TRANSACTION) < 0);
        } else if ((flags & FRAME_VALUED) != 0) {
            SondeHooksRing.discardValues(ring, (int) context, flags >>> FRAME_DEPTH_SHIFT);
        }
        close(ring, flags, context, places, place);
    }

    /** Ends the tracing of a frame, and restores the depth and the reserved room of the ring. */
    private static long leave(long ring, long frame, int flags) {
        long context = U.getLong(null, frame + FRAME_CONTEXT);
        U.putInt(null, frame + FRAME_FLAGS, flags & ~FRAME_TRACED);
        U.putInt(null, ring + RING_DEPTH, flags >>> FRAME_DEPTH_SHIFT);
        U.putLong(null, ring + RING_RESERVED, (context >>> RESERVED_SHIFT) * CALL_SIZE);
        return context;
    }

    private static void close(long ring, int flags, long context, long[] places, long place) {
        if ((flags & FRAME_OPENED) != 0) {
            SondeHooksRing.enter(ring, 0, 0, 0);
            U.putLong(places, place + TRANSACTION, 0);
            long word = U.getLong(places, place + WORD);
            U.putLong(places, place + WORD, (word & CONTEXT) != 0 ? word - 1 : word);
        }
        if ((flags & FRAME_LATE) != 0) {
            int held = context >>> RESERVED_SHIFT == 0 ? 0 : U.getInt(null, ring + RING_HELD) - 1;
            SondeHooksRing.release(ring, held, held <= 0 ? 0 : U.getInt(null, ring + RING_MIXED));
        }
    }
}
