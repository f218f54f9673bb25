package recursion;

import harness.Tally;
import harness.Workload;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;

/** Direct, branching, mutual, deep and endless recursion. */
public final class Main implements Workload {
    static final int FACTORIAL = Tally.exact(Main.class, "factorial", 21, 0);
    static final int FIBONACCI = Tally.exact(Main.class, "fibonacci", 1973, 0); // 2 F(16) - 1
    static final int EVEN = Tally.exact(Main.class, "isEven", 101, 0);
    static final int ODD = Tally.exact(Main.class, "isOdd", 100, 0);
    static final int DEEP = Tally.exact(Main.class, "deep", 5001, 0);
    static final int DEEP_THROW = Tally.exact(Main.class, "deepThenThrows", 5001, 5001);
    static final int ENDLESS = Tally.about(Main.class, "endless");
    static final int AFTER = Tally.exact(Main.class, "afterOverflow", 10, 0);
    private static final long DEEP_STACK = 64L << 20;
    private static final long SMALL_STACK = 256L << 10;

    static long factorial(int n) {
        Tally.in(FACTORIAL);
        return n == 0 ? 1 : n * factorial(n - 1);
    }

    static int fibonacci(int n) {
        Tally.in(FIBONACCI);
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    }

    static boolean isEven(int n) {
        Tally.in(EVEN);
        return n == 0 || isOdd(n - 1);
    }

    static boolean isOdd(int n) {
        Tally.in(ODD);
        return n != 0 && isEven(n - 1);
    }

    static long deep(int n) {
        Tally.in(DEEP);
        return n == 0 ? 0 : 1 + deep(n - 1);
    }

    static void deepThenThrows(int n) {
        Tally.in(DEEP_THROW);
        if (n > 0) {
            try {
                deepThenThrows(n - 1);
            } catch (IllegalStateException e) {
                throw Tally.out(DEEP_THROW, e);
            }
        }
        throw Tally.out(DEEP_THROW, new IllegalStateException("at the bottom"));
    }

    static int endless(int n) {
        Tally.in(ENDLESS);
        return endless(n + 1) + 1;
    }

    static int afterOverflow(int n) {
        Tally.in(AFTER);
        return n * 3;
    }

    private static long overflow() {
        long sum = 0;
        try {
            sum += endless(0);
        } catch (StackOverflowError e) {
            sum += 1;
        }
        for (int i = 0; i < 10; i++) {
            sum += afterOverflow(i);
        }
        return sum;
    }

    private static long deepOnes() {
        long sum = deep(5000);
        try {
            deepThenThrows(5000);
        } catch (IllegalStateException e) {
            sum += e.getMessage().length();
        }
        return sum;
    }

    @Override
    public long round() throws Exception {
        long sum = factorial(20) * 31 + fibonacci(15) + (isEven(200) ? 1 : 0);
        return sum + onStack(DEEP_STACK, Main::deepOnes) + onStack(SMALL_STACK, Main::overflow);
    }

    private static long onStack(long size, Callable<Long> work) throws Exception {
        FutureTask<Long> task = new FutureTask<>(work);
        new Thread(null, task, "recursion", size).start();
        return task.get();
    }
}
