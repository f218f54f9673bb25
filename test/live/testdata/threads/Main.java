package threads;

import harness.Tally;
import harness.Workload;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.LongAdder;

/** Many platform threads: short-lived ones in waves, pooled ones, thousands alive at once (block). */
public final class Main implements Workload {
    static final int WAVE = 100;
    static final int CALLS = 50;
    static final int POOLED = 20;
    static final int BODY = Tally.exact(Main.class, "bodyOfThread", WAVE, WAVE / 4);
    static final int TINY = Tally.exact(Main.class, "tinyCall", WAVE * CALLS + POOLED * CALLS, 0);
    static final int TASK = Tally.exact(Main.class, "taskOfPool", POOLED, 0);
    static final int STAYS = Tally.exact(Main.class, "staysInside", 0, 0);
    private static final long SMALL_STACK = 192L << 10;
    private final List<Thread> blocked = new ArrayList<>();
    private CountDownLatch release = new CountDownLatch(1);

    static long tinyCall(long x) {
        Tally.in(TINY);
        return x * 31 + 7;
    }

    /** Every fourth thread dies by an exception that nobody catches. */
    static void bodyOfThread(int n, LongAdder sum) {
        Tally.in(BODY);
        long x = n;
        for (int i = 0; i < CALLS; i++) {
            x = tinyCall(x);
        }
        sum.add(x);
        if (n % 4 == 0) {
            throw Tally.out(BODY, new IllegalStateException("uncaught"));
        }
    }

    static long taskOfPool(int n) {
        Tally.in(TASK);
        long x = n;
        for (int i = 0; i < CALLS; i++) {
            x = tinyCall(x);
        }
        return x;
    }

    static void staysInside(CountDownLatch arrived, CountDownLatch until) {
        Tally.in(STAYS);
        arrived.countDown();
        try {
            until.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Override
    public long round() throws Exception {
        LongAdder sum = new LongAdder();
        List<Thread> wave = new ArrayList<>();
        for (int i = 0; i < WAVE; i++) {
            int n = i;
            Thread thread = new Thread(null, () -> bodyOfThread(n, sum), "wave-" + i, SMALL_STACK);
            thread.setUncaughtExceptionHandler((t, e) -> { });
            thread.start();
            wave.add(thread);
        }
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Long>> tasks = new ArrayList<>();
        for (int i = 0; i < POOLED; i++) {
            int n = i;
            tasks.add(pool.submit(() -> taskOfPool(n)));
        }
        for (Future<Long> task : tasks) {
            sum.add(task.get());
        }
        pool.shutdown();
        for (Thread thread : wave) {
            thread.join();
        }
        return sum.sum();
    }

    @Override
    public void block(int count) throws InterruptedException {
        CountDownLatch arrived = new CountDownLatch(count);
        CountDownLatch until = release;
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(null, () -> staysInside(arrived, until), "stays-" + i, SMALL_STACK);
            blocked.add(thread);
            thread.start();
        }
        arrived.await();
    }

    @Override
    public void unblock() throws InterruptedException {
        release.countDown();
        for (Thread thread : blocked) {
            thread.join();
        }
        blocked.clear();
        release = new CountDownLatch(1);
    }
}
