package java.lang;

import static java.lang.SondeHooks.U;
import static java.lang.SondeHooks.at;
import static java.lang.SondeHooksPlaces.BLOCK;
import static java.lang.SondeHooksPlaces.BUSY;
import static java.lang.SondeHooksPlaces.CONTEXT;
import static java.lang.SondeHooksPlaces.FRESH;
import static java.lang.SondeHooksPlaces.MUTE_ONE;
import static java.lang.SondeHooksPlaces.TOKEN;
import static java.lang.SondeHooksPlaces.WORD;
import static sonde.layout.Layout.*;

import jdk.internal.vm.annotation.ForceInline;

/**
 * Called by woven methods for calls that are traced, or that count only if a condition at the exit holds; and by the
 * hand-off of transactions between threads.
 *
 * <p>The place of a thread has its transaction, so that calls outside every transaction end there. A thread that joins a
 * transaction saves its previous state in a frame that belongs to no call, unless there was none.
 */
public final class SondeHooksTrace {
    /** In a place: the transaction of its owner, 0 for none. It is not valid for a fresh owner. */
    static final int TRANSACTION = 56;
    /** Of that: the number of the transaction. */
    static final long ID = (1L << 62) - 1;
    /** Of that: another thread may know it. */
    static final long HANDED = 1L << 63;
    /** Of that: it was joined without a previous state. */
    private static final long ALONE = 1L << 62;

    private static final int ELAPSED = 1;
    private static final int CAPTURES = 2;
    private static final int CAPTURE = 3;
    private static final int LABEL = 4;
    private static final int TAKE = 5;
    private static final int ASK = 6;
    private static final int DROP = 7;
    private static final int DROP_UNSURE = 8;

    private SondeHooksTrace() {
    }

    /** Lets the agent initialise the class, so that no hook does. */
    static void prepare() {
    }

    /** The time of the call of a token so far; 0 if it is unknown. */
    public static long elapsed(long token) {
        return isClocked(token) ? act(token, ELAPSED, 0, null) : 0;
    }

    /** Whether values of the call of a token may be captured. */
    @ForceInline
    public static boolean captures(long token) {
        return isClocked(token) && act(token, CAPTURES, 0, null) != 0;
    }

    /**
     * Records a value of the call of a token if there is room; an index with VALUE_THREW says that it failed. VALUE_TRACE is
     * recorded only of calls that have opened a transaction.
     */
    public static void capture(long token, int index, String value) {
        if (isClocked(token)) {
            act(token, CAPTURE, index, value);
        }
    }

    /**
     * Ends the call of a token by the result of its condition: 1, it is kept; 0, it is dropped; otherwise, it is dropped as
     * undecided. A call that was counted at its beginning is always kept. If the condition says which calls have failed,
     * 1 means that this one has. If its spot has a quota that is used up, or had one and is off, the call is dropped.
     */
    public static void settle(long token, int id, int answer, boolean threw) {
        long fourth = SondeHooksWatch.fourth(id);
        int quota = fourth < 0 ? 0 : SondeHooksQuota.of(fourth);
        if (token == TOKEN_LATE) {
            if (answer == 1 && fourth >= 0 && (quota == 0 || SondeHooksQuota.admits(quota, true))) {
                SondeHooksTree.spill(id);
                if (threw) {
                    SondeHooksTree.countThrown(id, true);
                }
            }
            return;
        }
        if (fourth >= 0 && (fourth & WATCH_FAILS) != 0) {
            threw |= answer == 1;
            answer = 1;
        } else if (answer != 0 && (fourth < 0 || quota != 0) && isClocked(token)
                && act(token, answer == 1 ? TAKE : ASK, quota, null) == 0) {
            answer = 0;
        }
        if (answer != 1 && isClocked(token) && act(token, answer == 0 ? DROP : DROP_UNSURE, 0, null) != 0) {
            return;
        }
        if (threw) {
            SondeHooks.fail(token, id);
        } else {
            SondeHooks.exit(token);
        }
    }

    /** Records the number of the tags with which a call has begun. */
    static void label(long token, int label) {
        if (isClocked(token)) {
            act(token, LABEL, label, null);
        }
    }

    /** Whether a token belongs to a timed call with a frame, as all traced and late calls are. */
    @ForceInline
    private static boolean isClocked(long token) {
        return token > TOKEN_LATE && (token & (TOKEN_CLOCK | TOKEN_FRAMED)) == (TOKEN_CLOCK | TOKEN_FRAMED);
    }

    /** Does something for a running call; returns 0 if it is gone, or does not match. */
    private static long act(long token, int what, int number, String value) {
        long now = what == ELAPSED ? System.nanoTime() : 0;
        int index = (int) (token >>> TOKEN_PLACE_SHIFT) & SondeHooksPlaces.MOST_INDEX;
        int then = (int) (token >>> TOKEN_EPOCH_SHIFT);
        long[] places = SondeHooksPlaces.table(index);
        if (SondeHooks.epoch != then || places == null) {
            return 0;
        }
        long place = SondeHooksPlaces.offset(index);
        long word = U.getLong(places, place + WORD);
        if (!SondeHooksPlaces.isOwner(places, place) || (word & FRESH) != 0) {
            return 0; // the place was given up too early and belongs to another thread now, or the token is forged
        }
        long result = 0;
        U.putLong(places, place + WORD, word + MUTE_ONE); // methods that read a text may have hooks
        U.putLongOpaque(places, place + BUSY, 1);
        try {
            long b = SondeHooks.base;
            if (b != 0 && SondeHooks.epoch == then) {
                long block = b + U.getLong(places, place + BLOCK);
                int depth = (int) token & TOKEN_PAYLOAD;
                if (depth > 0 && depth <= U.getInt(null, block + BLOCK_DEPTH)) {
                    long frame = SondeHooksTree.frame(b, block, depth - 1);
                    if (what < TAKE) {
                        result = what == ELAPSED ? now - U.getLong(null, frame + FRAME_START)
                                : note(b, block, frame, what, number, value);
                    } else if (what < DROP) {
                        boolean needs = (U.getInt(null, frame + FRAME_FLAGS) & FRAME_QUOTA) != 0;
                        result = !needs || SondeHooksQuota.take(b, number, what == TAKE) ? 1 : 0;
                    } else if ((U.getInt(null, frame + FRAME_FLAGS) & FRAME_LATE) != 0) {
                        drop(b, block, frame, depth, what, places, place);
                        result = 1;
                    }
                }
            }
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
            U.putLong(places, place + WORD, U.getLong(places, place + WORD) - MUTE_ONE);
        }
        if (what >= DROP && word != 0) {
            SondeHooksPlaces.giveUpIfEmpty(places, place);
        }
        return result;
    }

    private static long note(long b, long block, long frame, int what, int number, String value) {
        int flags = U.getInt(null, frame + FRAME_FLAGS);
        if ((flags & FRAME_TRACED) == 0) {
            return 0;
        }
        if (what == CAPTURES) {
            return flags & FRAME_VALUES;
        }
        if (what == LABEL) {
            long context = U.getLong(null, frame + FRAME_CONTEXT);
            U.putLong(null, frame + FRAME_CONTEXT, context & ~(0xffffL << 32) | (number & 0xffffL) << 32);
            return 1;
        }
        if ((flags & (number == VALUE_TRACE ? FRAME_OPENED : FRAME_VALUES)) != 0) {
            int id = U.getInt(null, at(b, U.getInt(null, frame + FRAME_NODE)) + NODE_ID);
            long ring = at(b, U.getInt(null, block + BLOCK_RING));
            if ((value != null || !isIdle(id, number)) && SondeHooksRing.value(ring, id, flags >>> FRAME_DEPTH_SHIFT, number, value)) {
                U.putInt(null, frame + FRAME_FLAGS, flags | FRAME_VALUED);
            }
        }
        return 1;
    }

    /** Whether a template has a value that its spot does not have, so that null means nothing. */
    private static boolean isIdle(int id, int number) {
        long[] table = SondeHooksWatch.watches;
        int at = SondeHooksWatch.entry(table, id);
        int bit = (number & VALUE_AT_EXIT) != 0 ? (number & ~VALUE_AT_EXIT) + WATCH_VALUES : number;
        return at >= 0 && bit < 2 * WATCH_VALUES && (table[at + 2] >>> bit & 1) != 0;
    }

    /** Pops a call that is not counted: its own time is that of its caller, the time of its callees is not. */
    private static void drop(long b, long block, long frame, int depth, int what, long[] places, long place) {
        long node = at(b, U.getInt(null, frame + FRAME_NODE));
        boolean flat = (U.getInt(null, frame + FRAME_FLAGS) & FRAME_FLAT) != 0;
        pass(b, block, frame, depth);
        SondeHooksTree.abandon(b, block, depth - 1, 0, places, place);
        if (!flat) {
            U.putInt(null, block + BLOCK_CURRENT, U.getInt(null, node + NODE_PARENT));
        }
        if (what == DROP_UNSURE) {
            U.putLong(null, node + NODE_UNDECIDED, U.getLong(null, node + NODE_UNDECIDED) + 1);
        }
    }

    /** Adds the time of a frame's callees to that of the callees of the frame below, if there is one. */
    private static void pass(long b, long block, long frame, int depth) {
        if (depth > 1) {
            long above = SondeHooksTree.frame(b, block, depth - 2);
            SondeHooksTree.addCallees(frame, above, U.getLong(null, frame + FRAME_CHILD));
        }
    }

    /** The transaction of the owner of a place, for another thread; 0 if there is none. */
    @ForceInline
    static long transaction(long[] places, long place) {
        long transaction = U.getLong(places, place + TRANSACTION);
        if (transaction == 0 || (U.getLong(places, place + WORD) & FRESH) != 0) {
            return 0;
        }
        U.putLong(places, place + TRANSACTION, transaction | HANDED);
        return transaction & ID;
    }

    /**
     * Lets the owner of a place join a transaction of another thread, or none (0), until
     * {@link #part}.
     */
    static void join(long[] places, long place, long transaction) {
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
                    join(b, block, places, place, transaction);
                }
            }
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
        }
    }

    private static void join(long b, long block, long[] places, long place, long transaction) {
        long was = U.getLong(places, place + TRANSACTION);
        long word = U.getLong(places, place + WORD);
        int ref = U.getInt(null, block + BLOCK_RING);
        long ring = at(b, ref);
        int top = U.getInt(null, block + BLOCK_DEPTH);
        if (top != 0 || was != 0) {
            long frame = SondeHooksTree.frame(b, block, top);
            if (frame == 0) {
                return; // it stays in its transaction
            }
            int depth = ref == 0 ? 0 : U.getInt(null, ring + RING_DEPTH);
            long lost = ref == 0 ? 0 : U.getInt(null, ring + RING_LOST);
            U.putLong(null, frame + FRAME_NODE, (long) (FRAME_JOINED | depth << FRAME_DEPTH_SHIFT) << 32);
            U.putLong(null, frame + FRAME_START, was);
            U.putLong(null, frame + FRAME_CHILD, 0);
            U.putLong(null, frame + FRAME_OTHER, 0);
            U.putLong(null, frame + FRAME_CONTEXT, word & CONTEXT | lost << 32);
            U.putInt(null, block + BLOCK_DEPTH, top + 1);
        }
        if (transaction != 0) {
            U.putLong(places, place + WORD, word + 1);
        }
        if ((was & ID) != transaction) {
            U.putLong(places, place + TRANSACTION, was == 0 && top == 0 ? transaction | ALONE : transaction);
            if (ref != 0) {
                SondeHooksRing.enter(ring, transaction, 0, 0);
                U.putInt(null, ring + RING_MIXED, U.getInt(null, ring + RING_HELD));
            }
        }
    }

    /** Ends the newest {@link #join} of the owner of a place, and restores its previous state. */
    static void part(long[] places, long place) {
        long then = U.getLong(places, place + TOKEN) >>> TOKEN_EPOCH_SHIFT;
        U.putLongOpaque(places, place + BUSY, 1);
        try {
            long b = SondeHooks.base;
            if (b != 0 && SondeHooks.epoch == then && (U.getLong(places, place + WORD) & FRESH) == 0) {
                part(b, b + U.getLong(places, place + BLOCK), places, place);
            }
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
        }
        SondeHooksPlaces.giveUpIfEmpty(places, place);
    }

    private static void part(long b, long block, long[] places, long place) {
        int depth = U.getInt(null, block + BLOCK_DEPTH);
        long frame = 0;
        while (depth > 0) {
            frame = SondeHooksTree.frame(b, block, depth - 1);
            if ((U.getInt(null, frame + FRAME_FLAGS) & FRAME_JOINED) != 0) {
                break;
            }
            depth--;
        }
        if (depth > 0) {
            pass(b, block, frame, depth);
            SondeHooksTree.abandon(b, block, depth - 1, 0, places, place);
            return;
        }
        if ((U.getLong(places, place + TRANSACTION) & ALONE) == 0) {
            return; // nothing was joined
        }
        SondeHooksTree.abandon(b, block, 0, 0, places, place); // no call was running then, so all have ended
        SondeHooksPlaces.leaveContext(places, place, 0);
        U.putLong(places, place + TRANSACTION, 0);
        int ref = U.getInt(null, block + BLOCK_RING);
        if (ref != 0) {
            SondeHooksRing.enter(at(b, ref), 0, 0, 0);
        }
    }

    /** Restores the state that a frame has saved. */
    static void back(long b, long block, long frame, int flags, long[] places, long place) {
        long was = U.getLong(null, frame + FRAME_START);
        long is = U.getLong(places, place + TRANSACTION);
        long context = U.getLong(null, frame + FRAME_CONTEXT);
        int ref = U.getInt(null, block + BLOCK_RING);
        long ring = at(b, ref);
        int lost = (int) (context >>> 32);
        if (((was ^ is) & ID) == 0) {
            was |= is & HANDED;
            lost = ref == 0 ? 0 : U.getInt(null, ring + RING_LOST);
        }
        U.putLong(places, place + TRANSACTION, was);
        SondeHooksPlaces.leaveContext(places, place, context);
        if (ref != 0) {
            SondeHooksRing.enter(ring, was & ID, flags >>> FRAME_DEPTH_SHIFT, lost);
        }
    }
}
