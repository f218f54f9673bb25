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
 * Calls whose callers must be found: a random sample of the calls of some methods. A stack walk finds the caller; it
 * takes about a microsecond and allocates. It is muted and outside busy sections, so it may call any method.
 *
 * <p>An instance holds the callers found in one arena, numbered by their places in a table. A caller for which the
 * table has no room is unknown.
 */
final class SondeHooksCallers {
    private static final int MASK = CALLERS_MOST - 1;
    private static final int WINDOW = 64;
    /** More frames than a walk gets in one batch. */
    private static final int DEEP = 100;

    /** Null while no method has this setting. */
    private static volatile SondeHooksCallers current;

    private final StackWalker walker = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
    private final SondeHooksWalk nearest = new SondeHooksWalk(false);
    private final SondeHooksWalk here = new SondeHooksWalk(true);
    /** By number, less the first. Entries never change. */
    private final AtomicReferenceArray<SondeHooksCaller> table = new AtomicReferenceArray<SondeHooksCaller>(MASK + 1);

    private SondeHooksCallers() {
        for (int number = CALLER_UNKNOWN; number <= CALLER_ENTRY; number++) {
            table.set(number - CALLERS_FIRST, new SondeHooksCaller(number, null, "", "")); // never found
        }
    }

    /**
     * Prepares hooks to find callers. The agent uses every needed class once: if a hook with little stack left were the
     * first to use a class, its initialisation could fail, and the program could not use the class any more.
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

    /** Forgets the callers: their numbers are not valid in the next arena. */
    static void forget() {
        current = null;
    }

    /**
     * Continues a sampled call, which is counted in the node of its method: counts it below the node of its caller, or
     * pushes it on the stack to time it.
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
                // Here and not in an inner method: the walk must pass every frame of the hooks.
                Object found = callers.walker.walk((probe & HERE) != 0 ? callers.here : callers.nearest);
                number = callers.number(found, places, place, id);
            }
        } catch (Exception | LinkageError | VirtualMachineError contained) {
            // It must not make the program fail; the caller stays unknown.
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
        if (found == SondeHooksWalk.UNKNOWN || id == CALIBRATION_ID) { // the caller of calibration is not reported
            return CALLER_UNKNOWN;
        }
        SondeHooksCaller caller = find((StackFrame) found);
        if (caller == null) {
            return CALLER_UNKNOWN;
        }
        caller.tell(places, place, ((StackFrame) found).getDeclaringClass());
        return caller.number;
    }

    /** The caller of a frame, without a report; null if there is no room. */
    static SondeHooksCaller of(StackFrame frame) {
        SondeHooksCallers callers = current;
        return callers == null ? null : callers.find(frame);
    }

    /** The caller of a frame, created if it is new; null if there is no room. */
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
                caller = table.get(slot); // another thread has added it
            }
            if (caller.is(owner, name, descriptor)) {
                return caller;
            }
        }
        return null;
    }

    /** If there is no room, the call is only counted. */
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
