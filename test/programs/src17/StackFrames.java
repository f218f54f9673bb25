import java.util.List;
import java.util.stream.Collectors;

/** Frames as the program itself sees them: traces of running threads, stack walker, caller class, line by line. */
public final class StackFrames {
    public static void main(String[] args) throws Exception {
        print("own", Thread.currentThread().getStackTrace());
        System.out.println(walk());
        System.out.println(caller());
        new StackFrames();
        Runnable lambda = () -> print("lambda", new Throwable().getStackTrace());
        lambda.run();
        lines();
        System.out.println(depth(10) - depth(0));
        System.out.println(Thread.currentThread().getStackTrace().length);
        throwOnOneLine(0); throwOnOneLine(1);
    }

    StackFrames() {
        this(new Throwable().getStackTrace());
        print("constructor", new Throwable().getStackTrace());
    }

    StackFrames(StackTraceElement[] early) {
        print("arguments", early);
    }

    static List<String> walk() {
        return StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE).walk(frames -> frames
                .map(f -> f.getDeclaringClass().getSimpleName() + "." + f.getMethodName() + f.getDescriptor() + ":" + f.getLineNumber())
                .collect(Collectors.toList()));
    }

    static Class<?> caller() {
        return Other.callerClass();
    }

    static final class Other {
        static Class<?> callerClass() {
            return StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE).getCallerClass();
        }
    }

    static void lines() {
        int n = line()
                + line()
                + (line() > 0 ? line()
                        : 0);
        System.out.println("lines " + n);
    }

    static int line() {
        int line = new Throwable().getStackTrace()[1].getLineNumber();
        System.out.print("called from " + line + "; ");
        return line;
    }

    static int depth(int n) {
        return n == 0 ? new Throwable().getStackTrace().length : depth(n - 1);
    }

    static void throwOnOneLine(int n) {
        try { if (n == 0) { throw new Exception("a"); } else { throw new Exception("b"); } } catch (Exception e) {
            print(e.getMessage(), e.getStackTrace());
        }
    }

    static void print(String what, StackTraceElement[] frames) {
        System.out.println(what);
        for (StackTraceElement frame : frames) {
            System.out.println("    " + frame);
        }
    }
}
