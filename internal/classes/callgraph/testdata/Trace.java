import java.util.List;
import java.util.stream.Collectors;

/** Prints who called whom, over all frames of the program that are on the stack. */
final class Trace {
    private static final StackWalker WALKER = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

    static void log() {
        List<StackWalker.StackFrame> frames = WALKER.walk(s -> s.filter(Trace::isProgram).collect(Collectors.toList()));
        StringBuilder line = new StringBuilder();
        for (int i = frames.size() - 1; i > 0; i--) {
            line.append("call ").append(name(frames.get(i))).append(' ').append(name(frames.get(i - 1))).append('\n');
        }
        System.out.print(line);
    }

    private static boolean isProgram(StackWalker.StackFrame f) {
        return f.getDeclaringClass() != Trace.class && !f.getClassName().startsWith("java.") && !f.getClassName().startsWith("jdk.");
    }

    private static String name(StackWalker.StackFrame f) {
        return f.getClassName().replace('.', '/') + "." + f.getMethodName() + f.getDescriptor();
    }
}
