package dynamic;

import harness.Tally;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** Methods reached by core reflection (past the point where it generates code) and by method handles. */
public class Reflective {
    static final int MADE = Tally.exact(Reflective.class, "<init>", 23, 0);
    static final int INVOKED = Tally.exact(Reflective.class, "invokedByReflection", 20, 0);
    static final int THROWN = Tally.exact(Reflective.class, "throwsIntoReflection", 20, 20);
    static final int VIRTUAL = Tally.exact(Reflective.class, "handledVirtual", 10, 0);
    static final int STATIC = Tally.exact(Reflective.class, "handledStatic", 30, 0);
    static final int SPECIAL = Tally.exact(Reflective.class, "handledPrivate", 10, 0);
    static final int THROWS = Tally.exact(Reflective.class, "throwsIntoHandle", 10, 10);
    static final int HANDLER = Tally.exact(Reflective.class, "catchesForHandle", 10, 0);
    private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();
    private final long state;

    Reflective(long state) {
        Tally.in(MADE);
        this.state = state;
    }

    long invokedByReflection(int a, String b) {
        Tally.in(INVOKED);
        return state + a + b.length();
    }

    static void throwsIntoReflection() {
        Tally.in(THROWN);
        throw Tally.out(THROWN, new IllegalStateException("reflected"));
    }

    long handledVirtual(long x) {
        Tally.in(VIRTUAL);
        return state * x;
    }

    static long handledStatic(long x, double y) {
        Tally.in(STATIC);
        return x + (long) y;
    }

    private long handledPrivate() {
        Tally.in(SPECIAL);
        return state + 1;
    }

    static long throwsIntoHandle(long x) {
        Tally.in(THROWS);
        throw Tally.out(THROWS, new IllegalArgumentException("handle"));
    }

    static long catchesForHandle(IllegalArgumentException e, long x) {
        Tally.in(HANDLER);
        return x + e.getMessage().length();
    }

    static long work() throws Throwable {
        return byReflection() * 31 + byHandles();
    }

    private static long byReflection() throws Exception {
        Constructor<Reflective> constructor = Reflective.class.getDeclaredConstructor(long.class);
        Method invoked = Reflective.class.getDeclaredMethod("invokedByReflection", int.class, String.class);
        Method thrown = Reflective.class.getDeclaredMethod("throwsIntoReflection");
        long sum = 0;
        for (int i = 0; i < 20; i++) {
            sum += (Long) invoked.invoke(constructor.newInstance(5L), i, "four");
            try {
                thrown.invoke(null);
            } catch (InvocationTargetException e) {
                sum += e.getCause().getMessage().length();
            }
        }
        return sum;
    }

    private static long byHandles() throws Throwable {
        MethodType unary = MethodType.methodType(long.class, long.class);
        MethodHandle made = LOOKUP.findConstructor(Reflective.class, MethodType.methodType(void.class, long.class));
        MethodHandle virtual = LOOKUP.findVirtual(Reflective.class, "handledVirtual", unary);
        MethodHandle fixed = LOOKUP.findStatic(Reflective.class, "handledStatic",
                MethodType.methodType(long.class, long.class, double.class));
        MethodHandle special = LOOKUP.findSpecial(Reflective.class, "handledPrivate",
                MethodType.methodType(long.class), Reflective.class);
        MethodHandle guarded = MethodHandles.catchException(LOOKUP.findStatic(Reflective.class, "throwsIntoHandle", unary),
                IllegalArgumentException.class, LOOKUP.findStatic(Reflective.class, "catchesForHandle",
                        MethodType.methodType(long.class, IllegalArgumentException.class, long.class)));
        Reflective first = (Reflective) made.invokeExact(3L);
        Reflective second = (Reflective) (Object) made.invoke(4);
        Reflective third = (Reflective) made.invokeWithArguments(5L);
        MethodHandle bound = MethodHandles.insertArguments(fixed, 1, 2.5);
        long sum = 0;
        for (int i = 0; i < 10; i++) {
            sum += (long) virtual.invokeExact(first, (long) i) + (long) fixed.invokeExact((long) i, 1.5);
            sum += (long) special.invokeExact(second) + (long) guarded.invokeExact((long) i);
            sum += (long) bound.invokeExact((long) i) + (long) bound.invoke(i) + third.state;
        }
        return sum;
    }
}
