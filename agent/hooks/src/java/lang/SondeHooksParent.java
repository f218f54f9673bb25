package java.lang;

import static java.lang.SondeHooks.TID;
import static java.lang.SondeHooks.U;
import static java.lang.SondeHooks.at;
import static java.lang.SondeHooksPlaces.BLOCK;
import static java.lang.SondeHooksPlaces.BUSY;
import static java.lang.SondeHooksPlaces.FRESH;
import static java.lang.SondeHooksPlaces.TOKEN;
import static java.lang.SondeHooksPlaces.WORD;
import static java.lang.SondeHooksTrace.ID;
import static java.lang.SondeHooksTrace.TRANSACTION;
import static sonde.layout.Layout.*;

/** Names calls that go out of the program, so that transactions of other programs can say that they were called by them. */
final class SondeHooksParent {
    /** The characters of the id of a trace, and of half of it, which is that of a span. */
    private static final int TRACE_CHARS = 32;
    private static final int SPAN_CHARS = 16;
    /** How many calls inside the outgoing one may be measured for others. */
    private static final int MOST_INNER = 16;
    private static final long ODD = 0x9e3779b97f4a7c15L;

    /** Different in each JVM, and each time that hooks go in; 0 until then. */
    private static long seed;

    private SondeHooksParent() {
    }

    /** Uses everything once, so that no hook is the first. The agent calls it. */
    static void prepare() {
        long random = System.currentTimeMillis() * ODD ^ System.nanoTime() ^ (long) System.identityHashCode(new Object()) << 32;
        seed = random == 0 ? ODD : random;
        format(trace(null, 1), span(1));
    }

    /**
     * The W3C traceparent of a request that the calling thread is about to send: the trace of its transaction, and its innermost
     * traced call, with which that is recorded. Null if there is none.
     */
    static String next() {
        int index = SondeHooksPlaces.find(U.getLong(Thread.currentThread(), TID));
        long[] places = SondeHooksPlaces.table(index);
        if (index < 0 || places == null || seed == 0) {
            return null;
        }
        long place = SondeHooksPlaces.offset(index);
        long transaction = U.getLong(places, place + TRANSACTION) & ID;
        if (transaction == 0 || !SondeHooksPlaces.isOwner(places, place) || (U.getLong(places, place + WORD) & FRESH) != 0) {
            return null;
        }
        SondeHooksState state = SondeHooksPlaces.state(places, place);
        String trace = trace(state == null ? null : state.tags.trace, transaction);
        String span = span(System.nanoTime());
        return isRecorded(places, place, trace + "-" + span) ? format(trace, span) : null;
    }

    private static String format(String trace, String span) {
        return "00-" + trace + "-" + span + "-01";
    }

    /** The id of the trace of a transaction: that of others that it belongs to, or its own. */
    private static String trace(String others, long transaction) {
        return others != null ? others.substring(0, TRACE_CHARS) : hex(seed) + hex(transaction);
    }

    private static String span(long moment) {
        long mixed = (seed ^ moment) * ODD;
        mixed ^= mixed >>> 29 ^ U.getLong(Thread.currentThread(), TID) << 40;
        return hex(mixed == 0 ? 1 : mixed);
    }

    private static String hex(long number) {
        char[] digits = new char[SPAN_CHARS];
        for (int i = 0; i < SPAN_CHARS; i++) {
            int digit = (int) (number >>> 60 - 4 * i) & 15;
            digits[i] = (char) (digit < 10 ? '0' + digit : 'a' + digit - 10);
        }
        return new String(digits);
    }

    /** Records the ids of the innermost traced call of the owner of a place; false if there is none, or no room. */
    private static boolean isRecorded(long[] places, long place, String ids) {
        long then = U.getLong(places, place + TOKEN) >>> TOKEN_EPOCH_SHIFT;
        U.putLongOpaque(places, place + BUSY, 1);
        try {
            long b = SondeHooks.base;
            if (b == 0 || SondeHooks.epoch != then) {
                return false;
            }
            long block = b + U.getLong(places, place + BLOCK);
            int ref = U.getInt(null, block + BLOCK_RING);
            int depth = U.getInt(null, block + BLOCK_DEPTH);
            for (int i = 1; ref != 0 && i <= depth && i <= MOST_INNER; i++) {
                long frame = SondeHooksTree.frame(b, block, depth - i);
                int flags = U.getInt(null, frame + FRAME_FLAGS);
                if ((flags & FRAME_JOINED) != 0) {
                    return false;
                }
                if ((flags & FRAME_TRACED) != 0) {
                    int id = U.getInt(null, at(b, U.getInt(null, frame + FRAME_NODE)) + NODE_ID);
                    if (!SondeHooksRing.value(at(b, ref), id, flags >>> FRAME_DEPTH_SHIFT, VALUE_SPAN, ids)) {
                        return false;
                    }
                    U.putInt(null, frame + FRAME_FLAGS, flags | FRAME_VALUED);
                    return true;
                }
            }
            return false;
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
        }
    }
}
