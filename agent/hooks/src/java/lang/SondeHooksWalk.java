package java.lang;

import java.lang.StackWalker.StackFrame;
import java.util.Iterator;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Finds a caller among the frames of a stack: a frame, null if there is none, or {@link #UNKNOWN}. The innermost
 * frame outside the hooks is that of the method with the hook.
 */
final class SondeHooksWalk implements Function<Stream<StackFrame>, Object> {
    /** The caller is farther up than the limit of the walk. */
    static final Object UNKNOWN = new Object();

    private static final int MOST_FRAMES = 64;
    /** No other code can define a class in this package. */
    private static final String OWN = "java.lang.SondeHooks";

    private final boolean isHere;

    /** A walk to the method with the hook, or to its caller, without recursive calls. */
    SondeHooksWalk(boolean isHere) {
        this.isHere = isHere;
    }

    @Override
    public Object apply(Stream<StackFrame> frames) {
        Iterator<StackFrame> outward = frames.iterator();
        StackFrame hooked = null;
        int looked = 0;
        while (outward.hasNext()) {
            if (looked == MOST_FRAMES) {
                return UNKNOWN;
            }
            StackFrame frame = outward.next();
            if (frame.getDeclaringClass().getName().startsWith(OWN)) {
                continue;
            }
            looked++;
            if (isHere || hooked != null && !isSame(frame, hooked)) {
                return frame;
            }
            hooked = frame;
        }
        return null;
    }

    private static boolean isSame(StackFrame one, StackFrame other) {
        return one.getDeclaringClass() == other.getDeclaringClass() && one.getMethodName().equals(other.getMethodName())
                && one.getDescriptor().equals(other.getDescriptor());
    }
}
