package java.lang;

import static java.lang.SondeHooks.U;
import static java.lang.SondeHooks.at;
import static sonde.layout.Layout.*;

import jdk.internal.vm.annotation.ForceInline;

/**
 * The ring of a block: records of the traced calls of its thread, which Sonde reads at the same time.
 *
 * <p>Only the thread writes, and only Sonde moves the tail. A call reserves room for its record when it begins, so that
 * outer calls always have room; a call without room is only counted. Besides the reserved room there is room for one
 * more record: at most one pad is needed before the end of the free room, and it is shorter than a record.
 *
 * <p>Nothing is published during a call that is decided at its exit, so that its records can be removed. The calling
 * thread is marked as busy.
 */
final class SondeHooksRing {
    private SondeHooksRing() {
    }

    /** Lets the agent initialise the class, so that no hook does. */
    static void prepare() {
    }

    /** The address of a block's ring, created if it has none; 0 if there is no room. */
    @ForceInline
    static long of(long b, long block, long transaction) {
        int ref = U.getInt(null, block + BLOCK_RING);
        return ref != 0 ? at(b, ref) : make(b, block, transaction);
    }

    private static long make(long b, long block, long transaction) {
        int most = U.getIntVolatile(null, b + HEADER_RING_BYTES);
        if (most < LEAST_RING_BYTES || most > MOST_RING_BYTES) {
            return 0;
        }
        int capacity = LEAST_RING_BYTES;
        while (capacity <= most / 2) {
            capacity *= 2;
        }
        int ref = SondeHooksTree.take(b, RING_SIZE + capacity);
        if (ref == 0) {
            return 0;
        }
        long ring = at(b, ref);
        U.putInt(null, ring + RING_CAPACITY, capacity);
        U.putLong(null, ring + RING_TID, U.getLong(null, block + BLOCK_TID));
        U.putLong(null, ring + RING_TRANSACTION, transaction);
        int older;
        do {
            older = U.getIntVolatile(null, b + HEADER_RINGS);
            U.putInt(null, ring + RING_OLDER, older);
        } while (!U.compareAndSetInt(null, b + HEADER_RINGS, older, ref));
        U.putInt(null, block + BLOCK_RING, ref);
        return ring;
    }

    /** Gives the ring of a block, if there is one, to a new thread without a transaction. */
    static void settle(long b, long block) {
        int ref = U.getInt(null, block + BLOCK_RING);
        if (ref != 0) {
            long ring = at(b, ref);
            U.putLong(null, ring + RING_TID, U.getLong(null, block + BLOCK_TID));
            enter(ring, 0, 0, 0);
            U.putLong(null, ring + RING_RESERVED, 0);
            release(ring, 0, 0);
        }
    }

    /** Sets the transaction of the thread, its depth, and the number of its lost calls. */
    static void enter(long ring, long transaction, int depth, int lost) {
        U.putLong(null, ring + RING_TRANSACTION, transaction);
        U.putInt(null, ring + RING_DEPTH, depth);
        U.putInt(null, ring + RING_LOST, lost);
    }

    /** Whether there is room for these bytes besides the reserved room. */
    @ForceInline
    static boolean hasRoom(long ring, int bytes) {
        // Sonde has copied everything before the tail, so the tail is read before anything is written there.
        long tail = U.getLongVolatile(null, ring + RING_TAIL);
        long used = U.getLong(null, ring + RING_WRITE) - tail + U.getLong(null, ring + RING_RESERVED);
        return used + bytes + CALL_SIZE <= U.getInt(null, ring + RING_CAPACITY);
    }

    /** Counts a call that finds no room. */
    @ForceInline
    static void miss(long block, long ring, boolean isInside) {
        if (ring == 0) {
            U.putInt(null, block + BLOCK_RINGLESS, U.getInt(null, block + BLOCK_RINGLESS) + 1);
            return;
        }
        U.putLong(null, ring + RING_DROPPED, U.getLong(null, ring + RING_DROPPED) + 1);
        if (isInside) {
            U.putInt(null, ring + RING_LOST, U.getInt(null, ring + RING_LOST) + 1);
        }
    }

    /** The number of bytes of a record, with the pad before it. */
    private static int padded(long ring, int bytes) {
        int capacity = U.getInt(null, ring + RING_CAPACITY);
        int left = capacity - (int) (U.getLong(null, ring + RING_WRITE) & capacity - 1);
        return left < bytes ? left + bytes : bytes;
    }

    /** Begins a record, after a pad if it would cross the end; returns its address. */
    private static long begin(long ring, int bytes, int kind, int flags, int id) {
        int capacity = U.getInt(null, ring + RING_CAPACITY);
        long write = U.getLong(null, ring + RING_WRITE);
        int left = capacity - (int) (write & capacity - 1);
        if (left < bytes) {
            U.putLong(null, ring + RING_SIZE + capacity - left, left | RECORD_PAD << RECORD_KIND_SHIFT);
            write += left;
            U.putLong(null, ring + RING_WRITE, write);
        }
        long record = ring + RING_SIZE + (write & capacity - 1);
        U.putInt(null, record, bytes | kind << RECORD_KIND_SHIFT | flags << RECORD_FLAGS_SHIFT);
        U.putInt(null, record + CALL_ID, id);
        return record;
    }

    /** Ends a record, and publishes it unless a decision is pending. */
    private static void end(long ring, int bytes) {
        long write = U.getLong(null, ring + RING_WRITE) + bytes;
        U.putLong(null, ring + RING_WRITE, write);
        if (U.getInt(null, ring + RING_HELD) <= 0) {
            U.putLongRelease(null, ring + RING_HEAD, write);
        }
    }

    /** Writes the record of a call, and releases its reserved room. */
    static void call(long ring, int flags, int id, long start, long nanos, int label) {
        int lost = 0;
        if ((flags & (CALL_ROOT | CALL_HANDED)) != 0) {
            lost = U.getInt(null, ring + RING_LOST);
            U.putInt(null, ring + RING_LOST, 0);
        }
        long record = begin(ring, CALL_SIZE, RECORD_CALL, flags, id);
        U.putLong(null, record + CALL_TRANSACTION, U.getLong(null, ring + RING_TRANSACTION));
        U.putLong(null, record + CALL_START, start);
        U.putLong(null, record + CALL_NANOS, nanos);
        U.putInt(null, record + CALL_DEPTH, U.getInt(null, ring + RING_DEPTH));
        U.putInt(null, record + CALL_LABEL, label);
        U.putInt(null, record + CALL_LOST, lost);
        U.putInt(null, record + CALL_THREAD, (int) U.getLong(null, ring + RING_TID));
        end(ring, CALL_SIZE);
    }

    /** Writes a value of a call that is running; false if there is no room. */
    static boolean value(long ring, int id, int depth, int index, String value) {
        int length = value == null ? 0 : value.length();
        int units = length < MOST_UNITS ? length : MOST_UNITS;
        int bytes = VALUE_SIZE + (2 * units + 7 & ~7);
        if (!hasRoom(ring, padded(ring, bytes))) {
            return false;
        }
        int flags = length > units ? VALUE_CUT : 0;
        if ((index & VALUE_THREW) != 0) {
            flags = VALUE_FAILED;
        } else if (value == null) {
            flags = VALUE_NULL;
        }
        long record = begin(ring, bytes, RECORD_VALUE, flags, id);
        U.putLong(null, record + VALUE_TRANSACTION, U.getLong(null, ring + RING_TRANSACTION));
        U.putInt(null, record + VALUE_DEPTH, depth);
        U.putInt(null, record + VALUE_INDEX, index & ~VALUE_THREW | units << 16);
        for (int i = 0; i < units; i += 2) {
            int next = i + 1 < units ? value.charAt(i + 1) : 0;
            U.putInt(null, record + VALUE_SIZE + 2L * i, value.charAt(i) | next << 16);
        }
        end(ring, bytes);
        return true;
    }

    /** Ends one pending decision; after the last one, all records are published. */
    static void release(long ring, int held, int mixed) {
        U.putInt(null, ring + RING_HELD, held);
        U.putInt(null, ring + RING_MIXED, mixed);
        if (held <= 0) {
            U.putLongRelease(null, ring + RING_HEAD, U.getLong(null, ring + RING_WRITE));
        }
    }

    /** The position at which a call began, of which only the lower half is known. */
    private static long position(long ring, int lower) {
        long write = U.getLong(null, ring + RING_WRITE);
        return write - ((int) write - lower & 0xffffffffL);
    }

    /** Removes the records of the current transaction since a position; none of them is published. */
    static void discard(long ring, int since, boolean wasHanded) {
        long begun = position(ring, since);
        if (U.getInt(null, ring + RING_MIXED) == 0) {
            U.putLong(null, ring + RING_WRITE, begun);
        } else {
            blank(ring, begun, -1);
        }
        U.putLong(null, ring + RING_DISCARDED, U.getLong(null, ring + RING_DISCARDED) + 1);
        if (wasHanded) {
            long record = begin(ring, DISCARDED_SIZE, RECORD_DISCARDED, 0, 0);
            U.putLong(null, record + DISCARDED_TRANSACTION, U.getLong(null, ring + RING_TRANSACTION));
            end(ring, DISCARDED_SIZE);
        }
    }

    /** Removes the values of the call at a depth, written since a position; none of them is published. */
    static void discardValues(long ring, int since, int depth) {
        blank(ring, position(ring, since), depth);
    }

    /** Turns records of the current transaction into pads: all, or the values at a depth. */
    private static void blank(long ring, long from, int depth) {
        long transaction = U.getLong(null, ring + RING_TRANSACTION);
        long write = U.getLong(null, ring + RING_WRITE);
        int mask = U.getInt(null, ring + RING_CAPACITY) - 1;
        int size;
        for (long at = from; at < write; at += size) {
            long record = ring + RING_SIZE + (at & mask);
            int head = U.getInt(null, record);
            size = head & 0xffff;
            if (size < 8) {
                return; // another thread wrote here
            }
            int kind = head >>> RECORD_KIND_SHIFT & 0xff;
            boolean isMeant = depth < 0 || kind == RECORD_VALUE && U.getInt(null, record + VALUE_DEPTH) == depth;
            if (isMeant && kind != RECORD_PAD && U.getLong(null, record + CALL_TRANSACTION) == transaction) {
                U.putInt(null, record, size | RECORD_PAD << RECORD_KIND_SHIFT);
            }
        }
    }
}
