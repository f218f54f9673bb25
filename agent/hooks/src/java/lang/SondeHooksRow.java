package java.lang;

import java.lang.StackWalker.StackFrame;
import java.util.Iterator;
import java.util.function.Function;
import java.util.stream.Stream;

/** Collects the callers of the method with the hook, innermost first, up to the requested number. */
final class SondeHooksRow implements Function<Stream<StackFrame>, SondeHooksCaller[]> {
    private final SondeHooksDirect direct;
    private final int most;

    SondeHooksRow(SondeHooksDirect direct, int most) {
        this.direct = direct;
        this.most = most;
    }

    /** Null if one of them has no number. */
    @Override
    public SondeHooksCaller[] apply(Stream<StackFrame> frames) {
        SondeHooksCaller[] found = new SondeHooksCaller[most];
        Iterator<StackFrame> outward = frames.iterator();
        boolean isInside = false;
        int count = 0;
        while (count < most && outward.hasNext()) {
            StackFrame frame = outward.next();
            if (SondeHooksDirect.isOwn(frame)) {
                continue;
            }
            if (isInside && !direct.isBridge(frame)) {
                found[count] = SondeHooksCallers.of(frame);
                if (found[count] == null) {
                    return null;
                }
                count++;
            }
            isInside = true;
        }
        return found;
    }
}
