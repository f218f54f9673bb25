package java.lang;

import static java.lang.SondeHooksPlaces.BLOCK;
import static java.lang.SondeHooksPlaces.BUSY;
import static java.lang.SondeHooksPlaces.CONTEXT;
import static java.lang.SondeHooksPlaces.FIRST_BITS;
import static java.lang.SondeHooksPlaces.FRESH;
import static java.lang.SondeHooksPlaces.MUTED;
import static java.lang.SondeHooksPlaces.TOKEN;
import static java.lang.SondeHooksPlaces.WORD;
import static sonde.layout.Layout.*;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * Called by woven methods. A call makes a few plain stores into memory of the calling thread.
 *
 * <p>Nothing here allocates, locks, waits, or calls a method that could itself be woven; calls wait only where
 * Sonde makes them wait for the hooks of their callees ({@link SondeHooksArrivals}). Measurements are off
 * the heap, in the arena (docs/formats/arena.md). The arena can be unmapped under running threads, so it is
 * accessed only while the place of the thread is marked as busy: a thread marks its place, then reads
 * {@link #base} and {@link #epoch}; retiring the arena sets base to 0, restores every class, which takes a
 * safepoint, and then waits until no place is marked. Places are on the heap, where nothing is freed under a
 * reader; a thread that was stopped between reading a table and marking its place has the table of an earlier
 * epoch, and does not access the arena.
 *
 * <p>A call that is not timed moves the thread one node down in its tree, and its exit one up; where no tree is
 * kept it leaves nothing to undo. Only timed calls, and those that open a context, have frames.
 *
 * <p>A place belongs to a thread, found by the thread's own id field: getId() can be overridden. A platform
 * thread keeps its place, a virtual thread has one only while a woven method is on its stack. Nothing is kept
 * by carrier. A call for which there is no room is still counted, in the arena's spill table.
 */
public final class SondeHooks {
    static final Unsafe U = Unsafe.getUnsafe();
    static final long TID = U.objectFieldOffset(Thread.class, "tid");

    /** Not a token: the call was counted, and its caller must be found. */
    static final long DRAWN = -1;

    /** How many frames all pieces of a stack hold. */
    static final int MOST_FRAMES = (FIRST_FRAMES << FRAME_PIECES) - FIRST_FRAMES;

    /** The arena's address, 0 while hooks must not touch it. */
    static volatile long base;
    /** Identifies the arena: tokens of earlier arenas are ignored. */
    static volatile int epoch;
    /** The switch table: open addressing by id, a power of two long; null when all is off. */
    static volatile long[] probes;
    /** Whether members that are called by reflection or through a handle are reported to Sonde. */
    static volatile boolean following;

    private SondeHooks() {
    }

    /** Begins a call of a method; returns the token for its exit, 0 if nothing was begun. */
    @ForceInline
    public static long enter(int id) {
        long[] table = probes;
        if (table == null) {
            return 0;
        }
        int mask = table.length - 1;
        int at = id & mask;
        long probe = table[at];
        while ((int) (probe >>> 32) != id) {
            if (probe == 0) {
                return 0;
            }
            at = at + 1 & mask;
            probe = table[at];
        }
        if ((probe & ON) == 0 || (probe & INSIDE) != 0 && isOutside()) {
            return 0;
        }
        return begin(id, (int) probe);
    }

    /** Ends the call with the token, and inner calls whose exits were missed. */
    @ForceInline
    public static void exit(long token) {
        if (token > TOKEN_SPILLED) {
            end(token);
        }
    }

    /** Is {@link #exit} for a call that ends with an exception. Not inlined: it is rarely needed, and its call is always compiled. */
    @DontInline
    public static void fail(long token, int id) {
        if (token > TOKEN_SPILLED) {
            close(token, 1);
        } else if (token != 0) {
            SondeHooksTree.countThrown(id, token == TOKEN_SPILLED);
        }
    }

    /** Reports the member that is about to be called: a method, a constructor, or the member of a method handle. */
    @ForceInline
    public static void follow(Object member) {
        if (following) {
            SondeHooksMembers.follow(member);
        }
    }

    /** Returns true if the thread is certainly outside every context; begin checks again. */
    @ForceInline
    private static boolean isOutside() {
        long[] places = SondeHooksPlaces.first;
        if (places == null) {
            return true;
        }
        long tid = U.getLong(Thread.currentThread(), TID);
        long place = SondeHooksPlaces.home(tid, FIRST_BITS);
        return U.getLong(places, place) == tid && (U.getLong(places, place + WORD) & CONTEXT) == 0;
    }

    /** Not inlined, like end: otherwise the compiler moves code of the program across the reading of the clock. */
    @DontInline
    static long begin(int id, int probe) {
        long[] places = SondeHooksPlaces.first;
        if (places == null) {
            return 0;
        }
        long tid = U.getLong(Thread.currentThread(), TID);
        long place = SondeHooksPlaces.home(tid, FIRST_BITS);
        if (U.getLong(places, place) != tid) {
            // A thread without a place is outside every context and does not need one here.
            int index = (probe & (INSIDE | ROOT)) == INSIDE ? SondeHooksHandOff.find(tid) : SondeHooksPlaces.claim(tid);
            if (index < 0) {
                return (probe & INSIDE) != 0 ? 0 : SondeHooksTree.spill(id);
            }
            places = SondeHooksPlaces.table(index);
            place = SondeHooksPlaces.offset(index);
            if (places == null || U.getLong(places, place) != tid) {
                return 0; // the arena was retired in the meantime
            }
        }
        long word = U.getLong(places, place + WORD);
        if ((word & MUTED) != 0) {
            return 0;
        }
        if ((probe & (INSIDE | DISCOVER | LATE | TRACED)) != 0) {
            if ((probe & INSIDE) != 0 && (word & CONTEXT) == 0) {
                return 0;
            }
            if ((probe & DISCOVER) != 0) {
                return SondeHooksArrivals.begin(places, place, id);
            }
            if ((probe & (LATE | TRACED)) != 0) {
                return SondeHooksTransaction.isDropped(places, place, word, id, probe) ? TOKEN_COUNTED
                        : SondeHooksTransaction.begin(places, place, id, probe, 0);
            }
        }
        long common = U.getLong(places, place + TOKEN);
        long token = 0;
        U.putLongOpaque(places, place + BUSY, 1);
        long b = base;
        try {
            if (epoch != (int) (common >>> TOKEN_EPOCH_SHIFT)) {
                b = 0;
            }
            if (b != 0) {
                token = step(b, places, place, word, common, id, probe);
            }
        } finally {
            U.putLongRelease(places, place + BUSY, 0); // also where the stack is full
        }
        if (token > TOKEN_COUNTED || word == 0 && token > 0) {
            return token;
        }
        if (token == DRAWN) {
            return SondeHooksCallers.begin(places, place, id, probe);
        }
        SondeHooksPlaces.giveUpIfEmpty(places, place);
        return token != 0 || b == 0 ? token : SondeHooksTree.spill(id);
    }

    /** Counts the call in its node, and begins what its exit will end; 0 if there is no room. */
    @ForceInline
    private static long step(long b, long[] places, long place, long word, long common, int id, int probe) {
        long block = b + U.getLong(places, place + BLOCK);
        if ((word & FRESH) != 0) {
            block = SondeHooksTree.settle(b, places, place);
            if (block == 0) {
                return 0;
            }
        }
        boolean flat = (probe & (FLAT | CALLERS)) != 0;
        long node;
        int ref;
        if (flat) {
            ref = U.getInt(null, block + BLOCK_NEARBY + ((id & NEARBY - 1) << 2));
            node = at(b, ref);
        } else {
            ref = U.getInt(null, SondeHooksTree.place(at(b, U.getInt(null, block + BLOCK_CURRENT)), id));
            node = at(b, ref);
        }
        if (U.getInt(null, node + NODE_ID) != id) {
            ref = SondeHooksTree.search(b, block, id, probe);
            if (ref == 0) {
                return 0;
            }
            node = at(b, ref);
        }
        int flags = 0;
        if ((probe & (TIMED | SAMPLED | ROOT | CALLERS)) != 0) {
            if ((probe & CALLERS) != 0) {
                return SondeHooksTree.countAndDraw(block, node, probe);
            }
            if ((probe & TIMED) != 0) {
                flags = FRAME_TIMED | FRAME_DRAWN;
            } else if ((probe & SAMPLED) != 0) {
                int skip = U.getInt(null, node + NODE_SKIP) - 1;
                if (skip <= 0) {
                    skip = SondeHooksTree.draw(block, probe);
                    flags = FRAME_TIMED | FRAME_DRAWN | FRAME_SAMPLED;
                } else if (!flat && U.getInt(null, block + BLOCK_DEPTH) != 0) {
                    flags = SondeHooksTree.forParent(b, block);
                }
                U.putInt(null, node + NODE_SKIP, skip);
            }
            if (flags != 0 || (probe & ROOT) != 0) {
                return push(b, block, node, ref, flat ? flags | FRAME_FLAT : flags, places, place, common, probe);
            }
        }
        U.putLong(null, node + NODE_CALLS, U.getLong(null, node + NODE_CALLS) + 1);
        if (flat) {
            return TOKEN_COUNTED;
        }
        U.putInt(null, block + BLOCK_CURRENT, ref);
        return common | ref;
    }

    /** Counts the call in its node, and puts it on the stack; 0 if there is no room. */
    @ForceInline
    static long push(long b, long block, long node, int ref, int flags, long[] places, long place, long common,
            int probe) {
        int depth = U.getInt(null, block + BLOCK_DEPTH);
        long frame = SondeHooksTree.frame(b, block, depth);
        if (frame == 0) {
            if (depth < MOST_FRAMES) {
                return 0;
            }
            SondeHooksTree.abandon(b, block, 0, 0, places, place); // deeper than any stack: exits of calls were missed
            depth = 0;
            frame = SondeHooksTree.frame(b, block, 0);
        }
        U.putLong(null, node + NODE_CALLS, U.getLong(null, node + NODE_CALLS) + 1);
        if ((flags & FRAME_FLAT) != 0) {
            U.putInt(null, node + NODE_ACTIVE, U.getInt(null, node + NODE_ACTIVE) + 1);
        } else {
            U.putInt(null, block + BLOCK_CURRENT, ref);
        }
        if ((probe & (ROOT | SPREAD)) != 0) {
            if ((probe & SPREAD) != 0) {
                flags |= FRAME_SPREAD;
            }
            if ((probe & ROOT) != 0) {
                flags |= FRAME_ROOT;
                long word = U.getLong(places, place + WORD);
                U.putLong(null, frame + FRAME_CONTEXT, word);
                U.putLong(places, place + WORD, word + 1);
            }
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

    @DontInline
    private static void end(long token) {
        close(token, 0);
    }

    /** Inlined where {@code threw} is known, so that nothing is added for calls that end as usual. */
    @ForceInline
    static void close(long token, int threw) {
        long now = (token & TOKEN_CLOCK) != 0 ? System.nanoTime() : 0;
        // The token names the thread's place, which belongs to the thread while it has running calls. The
        // table is read before the epoch: if the epoch is the token's, so is the table. The program can call this
        // with any token, which must change nothing but what the thread has measured.
        int index = (int) (token >>> TOKEN_PLACE_SHIFT) & SondeHooksPlaces.MOST_INDEX;
        int then = (int) (token >>> TOKEN_EPOCH_SHIFT);
        long[] places = SondeHooksPlaces.table(index);
        if (epoch != then || places == null) {
            return;
        }
        long place = SondeHooksPlaces.offset(index);
        if (!SondeHooksPlaces.isOwner(places, place) || (U.getLong(places, place + WORD) & FRESH) != 0) {
            return; // the place was given up too early and belongs to another thread now, or the token is forged
        }
        U.putLongOpaque(places, place + BUSY, 1);
        try {
            long b = base;
            if (b != 0 && epoch == then) {
                long block = b + U.getLong(places, place + BLOCK);
                int named = (int) token & TOKEN_PAYLOAD;
                if ((token & TOKEN_FRAMED) != 0) {
                    pop(b, block, named, now, threw, places, place);
                } else if (named == U.getInt(null, block + BLOCK_CURRENT) || SondeHooksTree.isNode(b, block, named)) {
                    long node = at(b, named);
                    int parent = U.getInt(null, node + NODE_PARENT);
                    if (parent != 0) { // else it is the root, which is no call
                        U.putInt(null, block + BLOCK_CURRENT, parent);
                        SondeHooksTree.addThrown(node, threw);
                    }
                }
            }
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
        }
        if (U.getLong(places, place + WORD) != 0) {
            SondeHooksPlaces.giveUpIfEmpty(places, place);
        }
    }

    /** Pops frames until {@code depth - 1} are left. */
    @ForceInline
    private static void pop(long b, long block, int depth, long now, int threw, long[] places, long place) {
        int top = U.getInt(null, block + BLOCK_DEPTH);
        if (depth != top || depth == 0) {
            if (depth > top || depth == 0) {
                return; // an enclosing exit has popped it, or the token is forged
            }
            SondeHooksTree.abandon(b, block, depth, now, places, place);
        }
        // Calls that may overflow the stack come first, so that no update is left incomplete.
        long frame = SondeHooksTree.frame(b, block, depth - 1);
        long above = depth <= FIRST_FRAMES ? frame - FRAME_SIZE : SondeHooksTree.frame(b, block, depth - 2);
        long both = U.getLong(null, frame + FRAME_NODE);
        long node = at(b, (int) both);
        int flags = (int) (both >>> 32);
        long nanos = now - U.getLong(null, frame + FRAME_START);
        if ((flags & (FRAME_SAMPLED | FRAME_ROOT | FRAME_SPREAD | FRAME_LATE | FRAME_TRACED | FRAME_JOINED)) != 0) {
            if ((flags & FRAME_JOINED) != 0) {
                return; // the frame belongs to no call, and the token is forged
            }
            SondeHooksTree.finish(b, block, frame, node, flags, nanos, threw, places, place);
        }
        // Rare cases (recursion, a new maximum) are computed without branches: a compiler would leave out
        // branches that were not taken before, and compile again when they are.
        long outermost = -1;
        if ((flags & FRAME_FLAT) != 0) {
            int active = U.getInt(null, node + NODE_ACTIVE) - 1;
            U.putInt(null, node + NODE_ACTIVE, active);
            outermost = ~((long) (active | -active) >> 63);
        } else {
            U.putInt(null, block + BLOCK_CURRENT, U.getInt(null, node + NODE_PARENT));
        }
        if ((flags & FRAME_DRAWN) != 0) {
            long self = nanos - U.getLong(null, frame + FRAME_CHILD);
            U.putLong(null, node + NODE_TIMED, U.getLong(null, node + NODE_TIMED) + 1);
            U.putLong(null, node + NODE_SELF, U.getLong(null, node + NODE_SELF) + self);
            U.putLong(null, node + NODE_NANOS, U.getLong(null, node + NODE_NANOS) + (nanos & outermost));
            long max = U.getLong(null, node + NODE_MAX);
            long more = nanos - max;
            U.putLong(null, node + NODE_MAX, max + (more & ~(more >> 63)));
        }
        if (depth > 1 && (flags & FRAME_TIMED) != 0) {
            SondeHooksTree.addCallees(frame, above, nanos);
        }
        SondeHooksTree.addThrown(node, threw);
        U.putInt(null, block + BLOCK_DEPTH, depth - 1);
    }

    /** The address of a ref. */
    @ForceInline
    static long at(long b, int ref) {
        return b + ((ref & 0xffffffffL) << 6);
    }
}
