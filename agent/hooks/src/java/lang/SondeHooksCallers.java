package java.lang;

import static java.lang.SondeHooks.U;
import static java.lang.SondeHooks.at;
import static java.lang.SondeHooksPlaces.BLOCK;
import static java.lang.SondeHooksPlaces.BUSY;
import static java.lang.SondeHooksPlaces.MUTE_ONE;
import static java.lang.SondeHooksPlaces.TOKEN;
import static java.lang.SondeHooksPlaces.WORD;
import static sonde.layout.Layout.*;

import java.lang.StackWalker.StackFrame;
import java.util.concurrent.atomic.AtomicReferenceArray;
import jdk.internal.vm.annotation.DontInline;

/**
 * Calls whose callers are to be found: those that are drawn, of methods set so. The stack is walked for them, which
 * takes about a microsecond and allocates, muted and outside the arena, so it may call what it likes.
 *
 * <p>An instance holds the callers found in one arena, numbered by their places in a table. A caller for which the
 * table has no room is unknown.
 */
final class SondeHooksCallers {
    private static final int MASK = CALLERS_MOST - 1;
    private static final int WINDOW = 64;
    /** More frames than a walk gets at once. */
    private static final int DEEP = 100;

    /** Null while no method is set so. */
    private static volatile SondeHooksCallers current;

    private final StackWalker walker = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
    private final SondeHooksWalk nearest = new SondeHooksWalk(false);
    private final SondeHooksWalk here = new SondeHooksWalk(true);
    /** By number, less the first. Entries are made once and stay. */
    private final AtomicReferenceArray<SondeHooksCaller> table = new AtomicReferenceArray<SondeHooksCaller>(MASK + 1);

    private SondeHooksCallers() {
        for (int number = CALLER_UNKNOWN; number <= CALLER_ENTRY; number++) {
            table.set(number - CALLERS_FIRST, new SondeHooksCaller(number, null, "", "")); // nobody is found there
        }
    }

    /**
     * Makes hooks ready to find callers. All that they need is used once by the agent: a class that a hook were the
     * first to use, at the end of a stack, might fail to be initialised and be lost to the program.
     */
    static void prepare() {
        if (current == null) {
            new SondeHooksCallers().rehearse(DEEP);
            current = new SondeHooksCallers();
        }
    }

    private void rehearse(int deep) {
        if (deep > 0) {
            rehearse(deep - 1);
            return;
        }
        Object found = walker.walk(here);
        if (walker.walk(nearest) != null && found instanceof StackFrame) {
            Class<?> declaring = ((StackFrame) found).getDeclaringClass();
            find((StackFrame) found).text(declaring);
        }
    }

    /** Forgets the callers found: their numbers mean nothing in the next arena. */
    static void forget() {
        current = null;
    }

    /**
     * Goes on with a call that was drawn, and counted in its method's node: below its caller's node it is counted, or
     * put on the stack to be timed.
     */
    @DontInline
    static long begin(long[] places, long place, int id, int probe) {
        int number = CALLER_UNKNOWN;
        SondeHooksCallers callers = current;
        long start = System.nanoTime();
        SondeHooksAbsence.begin(places, place);
        U.putLong(places, place + WORD, U.getLong(places, place + WORD) + MUTE_ONE);
        try {
            if (callers != null) {
                // From here, not from deeper: each frame of the hooks is one more to walk past.
                Object found = callers.walker.walk((probe & HERE) != 0 ? callers.here : callers.nearest);
                number = callers.number(found, places, place, id);
            }
        } catch (Exception | LinkageError | VirtualMachineError contained) {
            // What the program is about to do must not fail by it; who called stays unknown.
        } finally {
            U.putLong(places, place + WORD, U.getLong(places, place + WORD) - MUTE_ONE);
            SondeHooksAbsence.end(places, place, System.nanoTime() - start);
        }
        long token = step(places, place, number, id, probe);
        if (token <= TOKEN_COUNTED) {
            SondeHooksPlaces.giveUpIfEmpty(places, place);
        }
        return token;
    }

    private int number(Object found, long[] places, long place, int id) {
        if (found == null) {
            return CALLER_ENTRY;
        }
        if (found == SondeHooksWalk.UNKNOWN || id == CALIBRATION_ID) { // who calibrates is nobody's business
            return CALLER_UNKNOWN;
        }
        SondeHooksCaller caller = find((StackFrame) found);
        if (caller == null) {
            return CALLER_UNKNOWN;
        }
        caller.tell(places, place, ((StackFrame) found).getDeclaringClass());
        return caller.number;
    }

    /** The caller a frame is of, which is told to nobody; null where there is no room. */
    static SondeHooksCaller of(StackFrame frame) {
        SondeHooksCallers callers = current;
        return callers == null ? null : callers.find(frame);
    }

    /** The caller a frame is of, new where it was not met before; null where there is no room. */
    private SondeHooksCaller find(StackFrame frame) {
        Class<?> owner = frame.getDeclaringClass();
        String name = frame.getMethodName();
        String descriptor = frame.getDescriptor();
        int home = SondeHooksCaller.hash(owner, name, descriptor) * 0x9E3779B1 >>> 16;
        for (int i = 0; i < WINDOW; i++) {
            int slot = home + i & MASK;
            SondeHooksCaller caller = table.get(slot);
            if (caller == null) {
                SondeHooksCaller made = new SondeHooksCaller(CALLERS_FIRST + slot, owner, name, descriptor);
                if (table.compareAndSet(slot, null, made)) {
                    return made;
                }
                caller = table.get(slot); // another thread was first
            }
            if (caller.is(owner, name, descriptor)) {
                return caller;
            }
        }
        return null;
    }

    /** Where there is no room the call is counted already, and no more is known of it. */
    private static long step(long[] places, long place, int number, int id, int probe) {
        long common = U.getLong(places, place + TOKEN);
        U.putLongOpaque(places, place + BUSY, 1);
        try {
            long b = SondeHooks.base;
            if (b == 0 || SondeHooks.epoch != (int) (common >>> TOKEN_EPOCH_SHIFT)) {
                return 0;
            }
            long block = b + U.getLong(places, place + BLOCK);
            int parent = SondeHooksTree.child(b, block, U.getInt(null, block + BLOCK_ROOT), number, 0);
            int ref = parent == 0 ? 0 : SondeHooksTree.child(b, block, parent, id, 0);
            if (ref == 0) {
                return TOKEN_COUNTED;
            }
            long node = at(b, ref);
            if ((probe & (TIMED | SAMPLED)) == 0) {
                U.putLong(null, node + NODE_CALLS, U.getLong(null, node + NODE_CALLS) + 1);
                return TOKEN_COUNTED;
            }
            int flags = FRAME_FLAT | FRAME_TIMED | FRAME_DRAWN | ((probe & TIMED) == 0 ? FRAME_SAMPLED : 0);
            long token = SondeHooks.push(b, block, node, ref, flags, places, place, common, probe & ~ROOT);
            return token != 0 ? token : TOKEN_COUNTED;
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
        }
    }
}
