package java.lang;

import static java.lang.SondeHooks.U;
import static java.lang.SondeHooks.at;
import static java.lang.SondeHooksPlaces.BLOCK;
import static java.lang.SondeHooksPlaces.BUSY;
import static java.lang.SondeHooksPlaces.CONTEXT;
import static java.lang.SondeHooksPlaces.FRESH;
import static java.lang.SondeHooksPlaces.TOKEN;
import static java.lang.SondeHooksPlaces.WORD;
import static sonde.layout.Layout.*;

/**
 * Passes calling contexts from thread to thread. A task carries the ref of the node in which it was handed over. The
 * thread that runs it has its calls in a part of its own tree: below a node whose id is that ref. So no thread writes
 * into the tree of another, and Sonde joins the trees.
 *
 * <pre>
 *   the tree of one thread          the tree of another
 *   root ─ serve ─ submit           root ─ HANDED_ID ─ (ref of submit) ─ run ─ …
 * </pre>
 */
final class SondeHooksPart {
    private SondeHooksPart() {
    }

    /** Lets the agent initialise the class, so that no hook does. */
    static void prepare() {
    }

    /** The ref of the node from which the owner of a place hands a task over; 0 if it is in no tree. */
    static int handing(long[] places, long place) {
        if ((U.getLong(places, place + WORD) & CONTEXT) == 0 || (U.getLong(places, place + WORD) & FRESH) != 0) {
            return 0;
        }
        long then = U.getLong(places, place + TOKEN) >>> TOKEN_EPOCH_SHIFT;
        U.putLongOpaque(places, place + BUSY, 1);
        try {
            long b = SondeHooks.base;
            if (b == 0 || SondeHooks.epoch != then) {
                return 0;
            }
            long block = b + U.getLong(places, place + BLOCK);
            int current = U.getInt(null, block + BLOCK_CURRENT);
            int root = U.getInt(null, block + BLOCK_ROOT);
            if (current == root || (U.getInt(null, block + BLOCK_FLAGS) & BLOCK_WRAPPED) != 0) {
                return 0;
            }
            U.putLong(null, at(b, root) + NODE_CALLS, U.getLong(null, at(b, root) + NODE_CALLS) + 1);
            return fold(b, current);
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
        }
    }

    /**
     * The node to carry for one that hands over: of a method that calls itself, the outermost. Work that is handed on by
     * no call, by the method that handed over the work it is part of, or too often belongs to the node that work belongs
     * to: tasks that submit themselves or split in halves must not grow the trees.
     */
    private static int fold(long b, int current) {
        int id = U.getInt(null, at(b, current) + NODE_ID);
        int outermost = current;
        int ref = current;
        for (int parent = U.getInt(null, at(b, ref) + NODE_PARENT); parent != 0; parent = U.getInt(null, at(b, ref) + NODE_PARENT)) {
            if (U.getInt(null, at(b, parent) + NODE_ID) == HANDED_ID) { // ref is a part
                int from = U.getInt(null, at(b, ref) + NODE_ID);
                boolean isSame = U.getInt(null, at(b, from) + NODE_ID) == id;
                return ref == current || isSame || U.getInt(null, at(b, ref) + NODE_HANDED) >= MOST_HANDED ? from : outermost;
            }
            ref = parent;
            outermost = U.getInt(null, at(b, ref) + NODE_ID) == id ? ref : outermost;
        }
        return outermost;
    }

    /** The part that contains a node; 0 if none does. */
    private static int partOf(long b, int ref) {
        for (int parent = U.getInt(null, at(b, ref) + NODE_PARENT); parent != 0; parent = U.getInt(null, at(b, ref) + NODE_PARENT)) {
            if (U.getInt(null, at(b, parent) + NODE_ID) == HANDED_ID) {
                return ref;
            }
            ref = parent;
        }
        return 0;
    }

    /** Whether a node is a part: a thread that is there has no running call. */
    static boolean isPart(long b, int ref) {
        int parent = U.getInt(null, at(b, ref) + NODE_PARENT);
        return parent != 0 && U.getInt(null, at(b, parent) + NODE_ID) == HANDED_ID;
    }

    /**
     * Makes the calls of the owner of a place part of the work that a node has handed over, unless it is in another call:
     * then its calls are callees of that one.
     *
     * @return for {@link #leave}: the node where it was before, and from bit 32 on the number of its frames; 0 if nothing
     *     changes
     */
    static long join(long[] places, long place, int from) {
        long then = U.getLong(places, place + TOKEN) >>> TOKEN_EPOCH_SHIFT;
        U.putLongOpaque(places, place + BUSY, 1);
        try {
            long b = SondeHooks.base;
            if (b == 0 || SondeHooks.epoch != then) {
                return 0;
            }
            long block = b + U.getLong(places, place + BLOCK);
            if ((U.getLong(places, place + WORD) & FRESH) != 0) {
                block = SondeHooksTree.settle(b, places, place);
            }
            return block == 0 ? 0 : join(b, block, places, place, from);
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
        }
    }

    private static long join(long b, long block, long[] places, long place, int from) {
        int root = U.getInt(null, block + BLOCK_ROOT);
        int was = U.getInt(null, block + BLOCK_CURRENT);
        if (was != root && !isPart(b, was) || (U.getInt(null, block + BLOCK_FLAGS) & BLOCK_WRAPPED) != 0) {
            return 0;
        }
        int all = SondeHooksTree.child(b, block, root, HANDED_ID, 0);
        int part = all == 0 ? 0 : SondeHooksTree.child(b, block, all, from, 0);
        if (part == 0) {
            SondeHooksPath.lose();
            return 0;
        }
        if (U.getInt(null, at(b, part) + NODE_HANDED) == 0) {
            int above = partOf(b, from);
            U.putInt(null, at(b, part) + NODE_HANDED, above == 0 ? 1 : U.getInt(null, at(b, above) + NODE_HANDED) + 1);
        }
        U.putInt(null, block + BLOCK_CURRENT, part);
        U.putLong(places, place + WORD, U.getLong(places, place + WORD) + 1);
        return (long) U.getInt(null, block + BLOCK_DEPTH) << 32 | was;
    }

    /** Ends {@link #join}: the owner of a place is where it was, with as many open contexts as in a word. */
    static void leave(long[] places, long place, long was, long word) {
        long then = U.getLong(places, place + TOKEN) >>> TOKEN_EPOCH_SHIFT;
        U.putLongOpaque(places, place + BUSY, 1);
        try {
            long b = SondeHooks.base;
            if (b != 0 && SondeHooks.epoch == then && (U.getLong(places, place + WORD) & FRESH) == 0) {
                long block = b + U.getLong(places, place + BLOCK);
                SondeHooksTree.abandon(b, block, (int) (was >>> 32), 0, places, place);
                U.putInt(null, block + BLOCK_CURRENT, (int) was);
                SondeHooksPlaces.leaveContext(places, place, word);
            }
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
        }
    }
}
