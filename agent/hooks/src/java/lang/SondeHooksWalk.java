package java.lang;

import java.lang.StackWalker.StackFrame;
import java.util.Iterator;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Finds a caller among the frames of a stack: a frame, null where there is none, or {@link #UNKNOWN}. The innermost
 * frame that is not of the hooks is the method that has the hook.
 */
final class SondeHooksWalk implements Function<Stream<StackFrame>, Object> {
    /** Who called is further up than anyone looks. */
    static final Object UNKNOWN = new Object();

    private static final int MOST_FRAMES = 64;
    /** Nobody else can have a class of this package. */
    private static final String OWN = "java.lang.SondeHooks";

    private final boolean isHere;

    /** One that gives the method with the hook itself, or one that gives who called that, calls by itself not counted. */
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
