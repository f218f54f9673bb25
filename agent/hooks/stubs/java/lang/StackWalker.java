package java.lang;

import java.util.function.Function;
import java.util.stream.Stream;

/** What the hooks use of the JDK's own class, for a compiler that knows no later JDK than 8; never packed. */
public final class StackWalker {
    private StackWalker() {
    }

    public static StackWalker getInstance(Option option) {
        throw new IllegalStateException();
    }

    public native <T> T walk(Function<? super Stream<StackFrame>, ? extends T> function);

    public enum Option {
        RETAIN_CLASS_REFERENCE
    }

    public interface StackFrame {
        Class<?> getDeclaringClass();

        String getMethodName();

        String getDescriptor();
    }
}
