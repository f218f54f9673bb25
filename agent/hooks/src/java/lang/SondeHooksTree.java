package java.lang;

import static java.lang.SondeHooks.TID;
import static java.lang.SondeHooks.U;
import static java.lang.SondeHooks.at;
import static java.lang.SondeHooksPlaces.BLOCK;
import static java.lang.SondeHooksPlaces.BUSY;
import static java.lang.SondeHooksPlaces.CONTEXT;
import static java.lang.SondeHooksPlaces.FRESH;
import static java.lang.SondeHooksPlaces.LONGS;
import static java.lang.SondeHooksPlaces.TOKEN;
import static java.lang.SondeHooksPlaces.VIRTUAL;
import static java.lang.SondeHooksPlaces.WORD;
import static sonde.layout.Layout.*;

import jdk.internal.vm.annotation.ForceInline;

/**
 * The less frequent part of the hooks: allocates pieces of the arena, grows trees and stacks, spills calls.
 *
 * <p>The place of the caller is marked as busy, so the arena stays mapped; only {@link #spill} ensures this
 * itself. New memory of the arena is zero. Only the owner of a block writes to it.
 */
final class SondeHooksTree {
    private static final int TABLE_AT = BLOCK_SIZE + FIRST_FRAMES * FRAME_SIZE;
    private static final int CHUNK_AT = TABLE_AT + FIRST_TABLE * 4;
    static final int ROOT_AT = CHUNK_AT + CHUNK_SIZE;
    private static final int WHOLE_BLOCK = CHUNK_AT + CHUNK_SIZE + FIRST_NODES * NODE_SIZE;
    private static final int SPILL_WINDOW = 64;

    /** The number of threads without a place that access the arena. */
    static final long[] GATE = new long[16];
    static final long GATE_AT = LONGS + 64;

    private SondeHooksTree() {
    }

    /** The ref of a new piece, 0 if there is no room. */
    static int take(long b, int bytes) {
        if (U.getLongVolatile(null, b + HEADER_NEXT) + bytes > U.getLongVolatile(null, b + HEADER_LIMIT)) {
            return 0; // checked first, so that next does not grow without limit
        }
        long piece = U.getAndAddLong(null, b + HEADER_NEXT, bytes);
        return piece + bytes > U.getLongVolatile(null, b + HEADER_LIMIT) ? 0 : (int) (piece >>> 6);
    }

    /** The block of a place for its new owner; 0 if there is no room. */
    static long settle(long b, long[] places, long place) {
        long word = U.getLong(places, place + WORD);
        long offset = U.getLong(places, place + BLOCK);
        if (offset == 0) {
            offset = newBlock(b);
            if (offset == 0) {
                return 0;
            }
            U.putLong(places, place + BLOCK, offset);
        }
        long block = b + offset;
        U.putLong(null, block + BLOCK_TID, U.getLong(places, place));
        U.putInt(null, block + BLOCK_OWNERS, U.getInt(null, block + BLOCK_OWNERS) + 1);
        abandon(b, block, 0, 0, places, place); // frames of a dead owner
        SondeHooksRing.settle(b, block);
        U.putLong(places, place + SondeHooksTrace.TRANSACTION, 0);
        U.putInt(null, block + BLOCK_CURRENT, U.getInt(null, block + BLOCK_ROOT));
        int virtual = (word & VIRTUAL) != 0 ? BLOCK_VIRTUAL : 0;
        U.putInt(null, block + BLOCK_FLAGS, U.getInt(null, block + BLOCK_FLAGS) & ~(BLOCK_WRAPPED | BLOCK_AWAY) | virtual);
        U.putLong(places, place + WORD, word & ~(FRESH | CONTEXT));
        return block;
    }

    /** Pops frames whose exits were missed, until depth are left; now is 0, or the time. */
    static void abandon(long b, long block, int depth, long now, long[] places, long place) {
        int top = U.getInt(null, block + BLOCK_DEPTH);
        while (top > depth) {
            long frame = frame(b, block, --top);
            int flags = U.getInt(null, frame + FRAME_FLAGS);
            long node = at(b, U.getInt(null, frame + FRAME_NODE));
            if ((flags & FRAME_ROOT) != 0) {
                SondeHooksPlaces.leaveContext(places, place, U.getLong(null, frame + FRAME_CONTEXT));
            }
            if ((flags & FRAME_FLAT) != 0) {
                U.putInt(null, node + NODE_ACTIVE, U.getInt(null, node + NODE_ACTIVE) - 1);
            }
            if ((flags & (FRAME_TRACED | FRAME_JOINED)) != 0) {
                untrace(b, block, frame, node, flags, now, places, place);
            }
        }
        U.putInt(null, block + BLOCK_DEPTH, top); // not depth: a forged one may be larger
    }

    private static void untrace(long b, long block, long frame, long node, int flags, long now, long[] places,
            long place) {
        if ((flags & FRAME_JOINED) != 0) {
            SondeHooksTrace.back(b, block, frame, flags, places, place);
        } else if ((flags & FRAME_LATE) != 0) {
            SondeHooksTransaction.takeBack(b, block, frame, flags, places, place);
        } else {
            long nanos = (now != 0 ? now : System.nanoTime()) - U.getLong(null, frame + FRAME_START);
            SondeHooksTransaction.finish(b, block, frame, node, flags, nanos, CALL_CUT, places, place);
        }
    }

    /** The offset of a new block, linked to the others; 0 if there is no room. */
    static long newBlock(long b) {
        int ref = take(b, WHOLE_BLOCK);
        if (ref == 0) {
            return 0;
        }
        long block = at(b, ref);
        int chunk = ref + CHUNK_AT / UNIT;
        U.putInt(null, block + BLOCK_TABLE, ref + TABLE_AT / UNIT);
        U.putInt(null, block + BLOCK_TABLE_MASK, FIRST_TABLE - 1);
        U.putInt(null, block + BLOCK_FRAMES, ref + BLOCK_SIZE / UNIT);
        U.putInt(null, block + BLOCK_CHUNK, chunk);
        U.putInt(null, block + BLOCK_ROOT, ref + ROOT_AT / UNIT);
        U.putInt(null, block + BLOCK_CURRENT, ref + ROOT_AT / UNIT);
        U.putLong(null, block + BLOCK_RANDOM, ref * 0x9E3779B97F4A7C15L ^ System.nanoTime() | 1);
        U.putInt(null, at(b, chunk) + CHUNK_CAPACITY, FIRST_NODES);
        U.putInt(null, at(b, chunk) + CHUNK_USED, 1);
        int older;
        do {
            older = U.getIntVolatile(null, b + HEADER_BLOCKS);
            U.putInt(null, block + BLOCK_OLDER, older);
        } while (!U.compareAndSetInt(null, b + HEADER_BLOCKS, older, ref));
        return block - b;
    }

    /** The address of a frame, created if there is none; 0 if there is no room. */
    @ForceInline
    static long frame(long b, long block, int depth) {
        if (depth < FIRST_FRAMES) {
            return block + BLOCK_SIZE + depth * FRAME_SIZE;
        }
        return deepFrame(b, block, depth);
    }

    private static long deepFrame(long b, long block, int depth) {
        int index = depth + FIRST_FRAMES;
        int piece = 1;
        while (index >>> piece >= 2 * FIRST_FRAMES) {
            piece++;
        }
        if (piece >= FRAME_PIECES) {
            return 0;
        }
        int ref = U.getInt(null, block + BLOCK_FRAMES + 4 * piece);
        if (ref == 0) {
            ref = take(b, FRAME_SIZE * FIRST_FRAMES << piece);
            if (ref == 0) {
                return 0;
            }
            U.putInt(null, block + BLOCK_FRAMES + 4 * piece, ref);
        }
        return at(b, ref) + (long) (index - (FIRST_FRAMES << piece)) * FRAME_SIZE;
    }

    /** The ref of the node for a call of a method now, 0 if there is no room; the next search is faster. */
    static int search(long b, long block, int id, int probe) {
        if ((probe & (FLAT | CALLERS)) == 0) {
            return child(b, block, U.getInt(null, block + BLOCK_CURRENT), id, probe);
        }
        int ref = child(b, block, U.getInt(null, block + BLOCK_ROOT), id, probe);
        U.putInt(null, block + BLOCK_NEARBY + ((id & NEARBY - 1) << 2), ref);
        return ref;
    }

    /** Whether a ref is that of a node of a block. */
    static boolean isNode(long b, long block, int ref) {
        for (int chunk = U.getInt(null, block + BLOCK_CHUNK); chunk != 0; chunk = U.getInt(null, at(b, chunk) + CHUNK_OLDER)) {
            int offset = ref - chunk - CHUNK_SIZE / UNIT;
            int used = U.getInt(null, at(b, chunk) + CHUNK_USED);
            if (offset >= 0 && offset < used * (NODE_SIZE / UNIT)) {
                return offset % (NODE_SIZE / UNIT) == 0;
            }
        }
        return false;
    }

    /** Where a node keeps the ref of a child that was called before. */
    @ForceInline
    static long place(long node, int id) {
        return node + NODE_CHILDREN + ((id & CHILDREN - 1) << 2);
    }

    /** Adds an exception to a node; threw is a constant for the compiler. */
    @ForceInline
    static void addThrown(long node, int threw) {
        if (threw != 0) {
            U.putLong(null, node + NODE_THREW, U.getLong(null, node + NODE_THREW) + threw);
        }
    }

    /** The ref of a child of a node, created if there is none; 0 if there is no room. */
    static int child(long b, long block, int parent, int id, int probe) {
        long table = at(b, U.getInt(null, block + BLOCK_TABLE));
        int mask = U.getInt(null, block + BLOCK_TABLE_MASK);
        int slot = hash(parent, id) & mask;
        int ref = U.getInt(null, table + 4L * slot);
        while (ref != 0) {
            long node = at(b, ref);
            if (U.getInt(null, node + NODE_ID) == id && U.getInt(null, node + NODE_PARENT) == parent) {
                U.putInt(null, place(at(b, parent), id), ref);
                return ref;
            }
            slot = slot + 1 & mask;
            ref = U.getInt(null, table + 4L * slot);
        }
        if (U.getInt(null, at(b, parent) + NODE_DEPTH) >= MOST_DEPTH) {
            // Endless recursion, or missed exits: constructors that fail in super(...).
            U.putInt(null, block + BLOCK_FLAGS, U.getInt(null, block + BLOCK_FLAGS) | BLOCK_WRAPPED);
            return child(b, block, U.getInt(null, block + BLOCK_ROOT), id, probe);
        }
        int used = U.getInt(null, block + BLOCK_TABLE_USED) + 1;
        if (4 * used > 3 * (mask + 1)) {
            if (!grow(b, block, table, mask)) {
                return 0;
            }
            mask = 2 * mask + 1;
            table = at(b, U.getInt(null, block + BLOCK_TABLE));
        }
        ref = newNode(b, block, parent, id, probe);
        if (ref != 0) {
            // Counted first: a stack overflow between the two must not leave more entries than counted, because a search
            // ends only at an empty entry.
            U.putInt(null, block + BLOCK_TABLE_USED, used);
            insert(table, mask, ref, hash(parent, id));
            U.putInt(null, place(at(b, parent), id), ref);
        }
        return ref;
    }

    private static int hash(int parent, int id) {
        int hash = (parent * 31 + id) * 0x9E3779B1;
        return hash ^ hash >>> 15;
    }

    private static void insert(long table, int mask, int ref, int hash) {
        int slot = hash & mask;
        while (U.getInt(null, table + 4L * slot) != 0) {
            slot = slot + 1 & mask;
        }
        U.putInt(null, table + 4L * slot, ref);
    }

    private static boolean grow(long b, long block, long table, int mask) {
        int ref = take(b, 8 * (mask + 1));
        if (ref == 0) {
            return false;
        }
        for (int slot = 0; slot <= mask; slot++) {
            int child = U.getInt(null, table + 4L * slot);
            if (child != 0) {
                long node = at(b, child);
                insert(at(b, ref), 2 * mask + 1, child, hash(U.getInt(null, node + NODE_PARENT), U.getInt(null, node + NODE_ID)));
            }
        }
        U.putInt(null, block + BLOCK_TABLE, ref);
        U.putInt(null, block + BLOCK_TABLE_MASK, 2 * mask + 1);
        return true;
    }

    private static int newNode(long b, long block, int parent, int id, int probe) {
        int chunk = U.getInt(null, block + BLOCK_CHUNK);
        int capacity = U.getInt(null, at(b, chunk) + CHUNK_CAPACITY);
        int used = U.getInt(null, at(b, chunk) + CHUNK_USED);
        if (used == capacity) {
            capacity = capacity * 4 < MOST_NODES ? capacity * 4 : MOST_NODES;
            int older = chunk;
            chunk = take(b, CHUNK_SIZE + capacity * NODE_SIZE);
            if (chunk == 0) {
                return 0;
            }
            used = 0;
            U.putInt(null, at(b, chunk) + CHUNK_CAPACITY, capacity);
            U.putInt(null, at(b, chunk) + CHUNK_OLDER, older);
            U.putIntRelease(null, block + BLOCK_CHUNK, chunk);
        }
        int ref = chunk + CHUNK_SIZE / UNIT + used * (NODE_SIZE / UNIT);
        long node = at(b, ref);
        U.putInt(null, node + NODE_ID, id);
        U.putInt(null, node + NODE_PARENT, parent);
        U.putInt(null, node + NODE_DEPTH, U.getInt(null, at(b, parent) + NODE_DEPTH) + 1);
        U.putInt(null, node + NODE_SKIP, (probe & (SAMPLED | CALLERS)) != 0 ? draw(block, probe) : 0);
        U.putLong(null, node + NODE_BORN, System.nanoTime());
        if ((probe & (SPREAD | TIMED)) == (SPREAD | TIMED)) {
            U.putInt(null, node + NODE_SPREAD, take(b, SPREAD_SIZE)); // here, because a compiler would leave out a branch that exits take once
        }
        U.putIntRelease(null, at(b, chunk) + CHUNK_USED, used + 1);
        return ref;
    }

    /**
     * Adds the time of a call to that of the callees of the frame above. Flat frames do not see others, and others do
     * not see flat ones: a frame passes on what those of the other kind measured in it. Where the kinds differ, the two
     * values are exchanged, without a branch.
     */
    @ForceInline
    static void addCallees(long frame, long above, long nanos) {
        long other = U.getLong(null, frame + FRAME_OTHER);
        int kinds = U.getInt(null, frame + FRAME_FLAGS) ^ U.getInt(null, above + FRAME_FLAGS);
        long exchanged = (nanos ^ other) & -(long) (kinds / FRAME_FLAT & 1);
        U.putLong(null, above + FRAME_CHILD, U.getLong(null, above + FRAME_CHILD) + (nanos ^ exchanged));
        U.putLong(null, above + FRAME_OTHER, U.getLong(null, above + FRAME_OTHER) + (other ^ exchanged));
    }

    /** The flags of a call that is not sampled: it is timed if its parent is, for the self time of the parent. */
    static int forParent(long b, long block) {
        int depth = U.getInt(null, block + BLOCK_DEPTH);
        int flags = FRAME_FLAT;
        while ((flags & FRAME_FLAT) != 0 && --depth >= 0) { // flat frames belong to others
            flags = U.getInt(null, frame(b, block, depth) + FRAME_FLAGS);
        }
        return (flags & (FRAME_DRAWN | FRAME_FLAT)) == FRAME_DRAWN ? FRAME_TIMED : 0;
    }

    /** A random number of calls, k on average: a fixed stride gives wrong results for periodic programs. */
    static int draw(long block, int probe) {
        long random = U.getLong(null, block + BLOCK_RANDOM);
        random ^= random << 13;
        random ^= random >>> 7;
        random ^= random << 17;
        U.putLong(null, block + BLOCK_RANDOM, random);
        int span = 2 * (probe >>> PERIOD_SHIFT) + 1;
        return span == 1 ? 1 : 1 + (int) ((random >>> 33) * span >>> 31);
    }

    /** Counts a call in a node; returns {@link SondeHooks#DRAWN} if it is sampled, otherwise a token with nothing to undo. */
    @ForceInline
    static long countAndDraw(long block, long node, int probe) {
        U.putLong(null, node + NODE_CALLS, U.getLong(null, node + NODE_CALLS) + 1);
        int skip = U.getInt(null, node + NODE_SKIP) - 1;
        if (skip > 0 && skip <= 2 * (probe >>> PERIOD_SHIFT)) {
            U.putInt(null, node + NODE_SKIP, skip);
            return TOKEN_COUNTED;
        }
        if (skip != 0) { // no number was drawn yet, or one for a longer period
            skip = draw(block, probe) - 1;
        }
        U.putInt(null, node + NODE_SKIP, skip > 0 ? skip : draw(block, probe));
        return skip > 0 ? TOKEN_COUNTED : SondeHooks.DRAWN;
    }

    /**
     * Ends a call with less frequent settings: adds its time to a distribution; closes its context; adds the square of a
     * sampled time, for the confidence interval; counts a call that is counted at its exit; writes the record of a
     * traced call.
     */
    static void finish(long b, long block, long frame, long node, int flags, long nanos, int threw, long[] places,
            long place) {
        if ((flags & FRAME_TRACED) != 0) {
            int ended = threw != 0 ? CALL_THREW : 0;
            SondeHooksTransaction.finish(b, block, frame, node, flags, nanos, ended, places, place);
        }
        if ((flags & FRAME_LATE) != 0) {
            U.putLong(null, node + NODE_CALLS, U.getLong(null, node + NODE_CALLS) + 1);
        }
        if ((flags & (FRAME_SPREAD | FRAME_DRAWN)) == (FRAME_SPREAD | FRAME_DRAWN)) {
            SondeHooksSpread.add(b, node, nanos);
        }
        if ((flags & FRAME_ROOT) != 0) {
            SondeHooksPlaces.leaveContext(places, place, U.getLong(null, frame + FRAME_CONTEXT));
        }
        if ((flags & FRAME_SAMPLED) != 0) {
            double self = nanos - U.getLong(null, frame + FRAME_CHILD);
            U.putDouble(null, node + NODE_SQUARES, U.getDouble(null, node + NODE_SQUARES) + self * self);
        }
    }

    /** Counts the exception of a call without its own token, by method. */
    static void countThrown(int id, boolean spilled) {
        if (spilled || !countThrown(id)) {
            spill(id, SPILLED_THREW);
        }
    }

    /** Returns false if the thread finds no room. */
    private static boolean countThrown(int id) {
        long tid = U.getLong(Thread.currentThread(), TID);
        int index = SondeHooksPlaces.claim(tid);
        long[] places = SondeHooksPlaces.table(index);
        long place = SondeHooksPlaces.offset(index);
        if (index < 0 || places == null || U.getLong(places, place) != tid) {
            return false;
        }
        long then = U.getLong(places, place + TOKEN) >>> TOKEN_EPOCH_SHIFT;
        int ref = 0;
        U.putLongOpaque(places, place + BUSY, 1);
        try {
            long b = SondeHooks.base;
            if (b != 0 && SondeHooks.epoch == then) {
                long block = b + U.getLong(places, place + BLOCK);
                if ((U.getLong(places, place + WORD) & FRESH) != 0) {
                    block = settle(b, places, place);
                }
                ref = block == 0 ? 0 : child(b, block, U.getInt(null, block + BLOCK_ROOT), id, 0);
                if (ref != 0) {
                    U.putLong(null, at(b, ref) + NODE_THREW, U.getLong(null, at(b, ref) + NODE_THREW) + 1);
                }
            }
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
        }
        SondeHooksPlaces.giveUpIfEmpty(places, place);
        return ref != 0;
    }

    /** Counts a call for which the thread has no room. */
    static long spill(int id) {
        return spill(id, SPILLED_CALLS);
    }

    private static long spill(int id, int counter) {
        U.getAndAddLong(GATE, GATE_AT, 1);
        try {
            long b = SondeHooks.base;
            return b != 0 && count(b, id, counter) ? TOKEN_SPILLED : 0;
        } finally {
            U.getAndAddLong(GATE, GATE_AT, -1);
        }
    }

    private static boolean count(long b, int id, int counter) {
        int ref = U.getIntVolatile(null, b + HEADER_SPILL);
        if (ref != 0) {
            long table = at(b, ref);
            int mask = U.getInt(null, table + SPILL_MASK);
            int slot = id & mask;
            for (int i = 0; i < SPILL_WINDOW; i++) {
                long entry = table + SPILL_SIZE + (long) slot * SPILLED_SIZE;
                int owner = U.getIntVolatile(null, entry + SPILLED_ID);
                if (owner == id || owner == 0 && U.compareAndSetInt(null, entry + SPILLED_ID, 0, id)
                        || U.getIntVolatile(null, entry + SPILLED_ID) == id) {
                    U.getAndAddLong(null, entry + counter, 1);
                    return true;
                }
                slot = slot + 1 & mask;
            }
        }
        U.getAndAddLong(null, b + HEADER_DROPPED, 1);
        return false;
    }
}
