package java.lang;

import static java.lang.SondeHooks.TID;
import static java.lang.SondeHooks.U;
import static java.lang.SondeHooksPlaces.BLOCK;
import static java.lang.SondeHooksPlaces.BUSY;
import static java.lang.SondeHooksPlaces.FRESH;
import static java.lang.SondeHooksPlaces.MUTED;
import static java.lang.SondeHooksPlaces.MUTE_ONE;
import static java.lang.SondeHooksPlaces.TOKEN;
import static java.lang.SondeHooksPlaces.WORD;
import static sonde.layout.Layout.*;

import jdk.internal.vm.annotation.DontInline;

/**
 * Called by templates that users have written: before and after their code, and for what they record. A record is a node, as
 * that of a method: its calls are the values, and its time is their sum.
 */
public final class SondeHooksRecord {
    /** The mark of a template that calls nothing, so that the thread need not be muted. */
    private static final long PURE = 1;
    /** The maximum length of a text: it outlives the call. */
    private static final int MOST_CHARS = 512;

    private SondeHooksRecord() {
    }

    /** Lets the agent initialise the class, so that no hook does. */
    static void prepare() {
    }

    /** Begins the code of a template; returns the mark for {@link #leave} and {@link #again}, 0 if it must not run. */
    @DontInline
    public static long enter(int id) {
        long[] table = SondeHooksWatch.watches;
        int at = SondeHooksWatch.entry(table, id);
        if (at < 0 || !SondeHooksWatch.holds(id)) {
            return 0;
        }
        int quota = SondeHooksQuota.of(table[at + 3]);
        if (quota != 0 && !SondeHooksQuota.admits(quota, false)) {
            return 0; // the spot that counts the call is inside and takes one
        }
        return (table[at + 3] & WATCH_PURE) != 0 ? PURE : SondeHooksWatch.mute();
    }

    /** Ends the code of a template. It may be called again. */
    @DontInline
    public static void leave(long mark) {
        if (mark != 0 && mark != PURE) {
            SondeHooksWatch.unmute(mark);
        }
    }

    /** Begins the code after the target; returns the mark from then on. It may be called again. */
    @DontInline
    public static long again(long mark) {
        if (mark == 0 || mark == PURE) {
            return mark;
        }
        long[] places = SondeHooksWatch.places(mark);
        if (places == null) {
            return 0; // the session has ended
        }
        long place = SondeHooksPlaces.offset(SondeHooksWatch.index(mark));
        if (!SondeHooksPlaces.isOwner(places, place)) {
            return SondeHooksWatch.mute(); // a virtual thread has given up its place
        }
        long outer = mark << 32 & MUTED;
        U.putLong(places, place + WORD, U.getLong(places, place + WORD) & ~MUTED | outer + MUTE_ONE);
        return mark;
    }

    /** Ends the code of a template that has failed, and counts that. */
    @DontInline
    public static void failed(long mark, int id) {
        leave(mark);
        SondeHooksWatch.unsure(id);
    }

    /** Counts. */
    @DontInline
    public static void count(int id) {
        record(id, 0, 0);
    }

    /** Adds to a sum. */
    @DontInline
    public static void add(int id, long value) {
        record(id, TIMED, value);
    }

    /** Adds a value to a distribution. */
    @DontInline
    public static void histogram(int id, long value) {
        record(id, TIMED | SPREAD, value);
    }

    /** Counts by a text. */
    @DontInline
    public static void event(int id, String text) {
        long[] table = SondeHooksWatch.watches;
        int at = SondeHooksWatch.entry(table, id);
        SondeHooksState state = at < 0 ? null : state();
        if (state == null) {
            return;
        }
        SondeHooksTag outer = state.tags;
        try {
            state.tags = outer.with((int) table[at + 1] & TAGS_MOST - 1, cut(text));
            record(id, 0, 0);
        } finally {
            state.tags = outer;
        }
    }

    /** Sets a tag of the transaction, whose hook around the same method restores it. */
    @DontInline
    public static void tag(int number, String value) {
        SondeHooksState state = state();
        if (state != null) {
            state.tags = state.tags.with(number & TAGS_MOST - 1, cut(value));
        }
    }

    private static String cut(String text) {
        return text == null || text.length() <= MOST_CHARS ? text : text.substring(0, MOST_CHARS);
    }

    /** The state of the calling thread, null if there is no room. */
    private static SondeHooksState state() {
        long tid = U.getLong(Thread.currentThread(), TID);
        int index = SondeHooksPlaces.claim(tid);
        long[] places = SondeHooksPlaces.table(index);
        long place = SondeHooksPlaces.offset(index);
        if (index < 0 || places == null || U.getLong(places, place) != tid) {
            return null;
        }
        return SondeHooksPlaces.needState(places, place);
    }

    private static void record(int id, int setting, long value) {
        long[] table = SondeHooksWatch.watches;
        int at = SondeHooksWatch.entry(table, id);
        if (at < 0) {
            return; // it was switched off in the meantime
        }
        long tid = U.getLong(Thread.currentThread(), TID);
        int index = SondeHooksPlaces.claim(tid);
        if (index < 0) {
            SondeHooksTree.spill(id);
            return;
        }
        long[] places = SondeHooksPlaces.table(index);
        long place = SondeHooksPlaces.offset(index);
        if (places == null || U.getLong(places, place) != tid) {
            return; // the arena was retired in the meantime
        }
        int groups = (int) table[at + 3] & 0xffff;
        int label = groups == 0 ? 0 : SondeHooksLabels.ofTags(places, place, groups);
        long then = U.getLong(places, place + TOKEN) >>> TOKEN_EPOCH_SHIFT;
        boolean isFull = false;
        U.putLongOpaque(places, place + BUSY, 1);
        try {
            long b = SondeHooks.base;
            if (b != 0 && SondeHooks.epoch == then) {
                long block = b + U.getLong(places, place + BLOCK);
                if ((U.getLong(places, place + WORD) & FRESH) != 0) {
                    block = SondeHooksTree.settle(b, places, place);
                }
                int ref = block == 0 ? 0 : find(b, block, label, id, setting);
                if (ref == 0) {
                    isFull = true;
                } else {
                    write(b, SondeHooks.at(b, ref), setting, value > 0 ? value : 0);
                }
            }
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
        }
        SondeHooksPlaces.giveUpIfEmpty(places, place);
        if (isFull) {
            SondeHooksTree.spill(id);
        }
    }

    /** The ref of the node of a record, below that of its label if it has one; 0 if there is no room. */
    private static int find(long b, long block, int label, int id, int setting) {
        int parent = U.getInt(null, block + BLOCK_ROOT);
        if (label != 0) {
            parent = SondeHooksTree.child(b, block, parent, label, 0);
        }
        return parent == 0 ? 0 : SondeHooksTree.child(b, block, parent, id, setting);
    }

    /** Adds the time that a task has waited for the owner of a place to the spot that has begun to measure it. */
    static void addWait(long[] places, long place, int id, long nanos) {
        long then = U.getLong(places, place + TOKEN) >>> TOKEN_EPOCH_SHIFT;
        U.putLongOpaque(places, place + BUSY, 1);
        try {
            long b = SondeHooks.base;
            if (b != 0 && SondeHooks.epoch == then && (U.getLong(places, place + WORD) & FRESH) == 0) {
                long block = b + U.getLong(places, place + BLOCK);
                int spot = find(b, block, 0, id, 0);
                int ref = spot == 0 ? 0 : SondeHooksTree.child(b, block, spot, QUEUED_ID, 0);
                if (ref != 0) {
                    write(b, SondeHooks.at(b, ref), TIMED, nanos);
                }
            }
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
        }
    }

    private static void write(long b, long node, int setting, long value) {
        if ((setting & SPREAD) != 0) {
            SondeHooksSpread.add(b, node, value); // first, because it may find the stack full
        }
        U.putLong(null, node + NODE_CALLS, U.getLong(null, node + NODE_CALLS) + 1);
        if ((setting & TIMED) != 0) {
            U.putLong(null, node + NODE_TIMED, U.getLong(null, node + NODE_TIMED) + 1);
            U.putLong(null, node + NODE_NANOS, U.getLong(null, node + NODE_NANOS) + value);
            if (value > U.getLong(null, node + NODE_MAX)) {
                U.putLong(null, node + NODE_MAX, value);
            }
        }
    }
}
