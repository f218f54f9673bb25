package java.lang;

import static java.lang.SondeHooks.U;
import static java.lang.SondeHooksPlaces.FRESH;
import static java.lang.SondeHooksPlaces.MUTED;
import static java.lang.SondeHooksPlaces.MUTE_ONE;
import static java.lang.SondeHooksPlaces.WORD;
import static sonde.layout.Layout.CONTEXT_MOST;

import java.lang.StackWalker.StackFrame;
import java.util.Iterator;
import java.util.function.Function;
import java.util.stream.Stream;
import jdk.internal.vm.annotation.DontInline;

/**
 * Finds the direct caller of a method by a short stack walk. It takes about a microsecond and allocates, so it is
 * done only if everything else matches; it is muted and outside busy sections.
 *
 * <p>An instance knows the anchors, by name, and bridge methods, which do not count as callers.
 */
final class SondeHooksDirect implements Function<Stream<StackFrame>, Object> {
    /** More frames than a walk gets in one batch. */
    private static final int DEEP = 100;
    /** No other code can define a class in this package. */
    private static final String OWN = "java.lang.SondeHooks";
    /** The positions of a method that does not count as a caller. */
    private static final int BRIDGE = -1;

    /** Of a method's flags. */
    private static final int ACC_BRIDGE = 0x40;

    /** Null while no spot is on. */
    private static volatile SondeHooksDirect current;
    /** The offset of the method flags in a frame; negative if this JDK has no such field. */
    private static long flags = -1;
    /** In JDKs before 22: the offset of the object with the flags, and of the flags in it. */
    private static long member = -1;
    private static long memberFlags = -1;
    /** The classes with these fields. */
    private static Class<?> frameClass;

    private final StackWalker walker = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
    /** Open addressing by class and name: three strings each, at most half of it used. */
    private final String[] names;
    private final int[] positions;

    private SondeHooksDirect(String[] members, int[] positions, String[] bridges) {
        int size = 2;
        while (size < 2 * (members.length + bridges.length)) {
            size *= 2;
        }
        this.names = new String[3 * size];
        this.positions = new int[size];
        for (int i = 0; i < members.length; i++) {
            add(members[i], positions[i]);
        }
        for (String bridge : bridges) {
            add(bridge, BRIDGE);
        }
    }

    private void add(String member, int as) {
        int parameters = member.indexOf('(');
        int dot = member.lastIndexOf('.', parameters);
        if (dot < 0) {
            throw new IllegalArgumentException("not a method: " + member);
        }
        String owner = member.substring(0, dot).replace('/', '.');
        String name = member.substring(dot + 1, parameters);
        int at = home(owner, name);
        while (names[3 * at] != null) {
            at = at + 1 & positions.length - 1;
        }
        names[3 * at] = owner;
        names[3 * at + 1] = name;
        names[3 * at + 2] = member.substring(parameters);
        positions[at] = as;
    }

    private int home(String owner, String name) {
        int hash = (31 * owner.hashCode() + name.hashCode()) * 0x9E3779B1;
        return (hash ^ hash >>> 15) & positions.length - 1;
    }

    /** Lets the agent initialise the class, so that no hook does. */
    static void prepare() {
    }

    /**
     * Replaces the anchors and bridges. The agent uses every class that a walk needs once: if a hook with little stack
     * left were the first to use it, its initialisation could fail, and the program could not use the class any more.
     */
    static void set(String[] members, int[] positions, String[] bridges) {
        SondeHooksDirect made = new SondeHooksDirect(members, positions, bridges);
        if (current == null) {
            flags = SondeHooksMembers.offset("java.lang.ClassFrameInfo", "flags");
            member = SondeHooksMembers.offset("java.lang.StackFrameInfo", "memberName");
            memberFlags = SondeHooksMembers.offset("java.lang.invoke.MemberName", "flags");
            made.rehearse(DEEP);
        }
        current = made;
    }

    private void rehearse(int deep) {
        if (deep > 0) {
            rehearse(deep - 1);
            return;
        }
        Object found = walker.walk(this);
        if (found != null) {
            frameClass = found.getClass();
            isBridge((StackFrame) found);
            positionsOf((StackFrame) found);
        }
        walker.walk(new SondeHooksRow(this, CONTEXT_MOST));
    }

    static void forget() {
        current = null;
    }

    /** The positions of the direct caller of the method with the hook; 0 if it is not an element. */
    @DontInline
    static long callerOf(long[] places, long place) {
        SondeHooksDirect direct = current;
        long word = U.getLong(places, place + WORD);
        if (direct == null || (word & MUTED) != 0) {
            return 0;
        }
        boolean counts = (word & FRESH) == 0; // otherwise no running call has this time
        long start = counts ? System.nanoTime() : 0;
        if (counts) {
            SondeHooksAbsence.begin(places, place);
        }
        U.putLong(places, place + WORD, word + MUTE_ONE);
        try {
            Object found = direct.walker.walk(direct);
            return found == null ? 0 : direct.positionsOf((StackFrame) found);
        } catch (Exception | LinkageError | VirtualMachineError contained) {
            return 0; // it must not make the program fail
        } finally {
            U.putLong(places, place + WORD, U.getLong(places, place + WORD) - MUTE_ONE);
            if (counts) {
                SondeHooksAbsence.end(places, place, System.nanoTime() - start);
            }
        }
    }

    @Override
    public Object apply(Stream<StackFrame> frames) {
        Iterator<StackFrame> outward = frames.iterator();
        boolean isInside = false;
        while (outward.hasNext()) {
            StackFrame frame = outward.next();
            if (isOwn(frame)) {
                continue;
            }
            if (isInside && !isBridge(frame)) {
                return frame;
            }
            isInside = true;
        }
        return null;
    }

    static boolean isOwn(StackFrame frame) {
        return frame.getDeclaringClass().getName().startsWith(OWN);
    }

    /** Sonde may not know all bridge methods; most JDKs mark them in the frame. */
    boolean isBridge(StackFrame frame) {
        int at = find(frame);
        return at >= 0 ? positions[at] == BRIDGE : (flagsOf(frame) & ACC_BRIDGE) != 0;
    }

    private static int flagsOf(StackFrame frame) {
        if (frame.getClass() != frameClass) {
            return 0;
        }
        if (flags >= 0) {
            return U.getInt(frame, flags);
        }
        Object has = member < 0 || memberFlags < 0 ? null : SondeHooksMembers.reference(frame, member);
        return has == null ? 0 : U.getInt(has, memberFlags);
    }

    private int positionsOf(StackFrame frame) {
        int at = find(frame);
        return at < 0 ? 0 : positions[at];
    }

    private int find(StackFrame frame) {
        String owner = frame.getDeclaringClass().getName();
        String name = frame.getMethodName();
        int at = home(owner, name);
        while (names[3 * at] != null) {
            if (names[3 * at].equals(owner) && names[3 * at + 1].equals(name)
                    && names[3 * at + 2].equals(frame.getDescriptor())) {
                return at;
            }
            at = at + 1 & positions.length - 1;
        }
        return -1;
    }

    /**
     * The innermost callers of the method with the hook, then nulls; null if they are unknown. The thread must be
     * muted.
     */
    static SondeHooksCaller[] row(int most) {
        SondeHooksDirect direct = current;
        return direct == null ? null : direct.walker.walk(new SondeHooksRow(direct, most));
    }
}
