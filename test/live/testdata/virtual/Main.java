package virtual;

import harness.Tally;
import harness.Workload;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/**
 * Virtual threads that leave their carriers inside counted methods. A round is a wave of 10,000: a
 * hundred rounds are a million.
 */
public final class Main implements Workload {
    static final int WAVE = 10_000;
    static final int BODY = Tally.exact(Main.class, "bodyOfThread", WAVE, 0);
    static final int YIELDS = Tally.exact(Main.class, "yieldsInside", WAVE, 0);
    static final int PARKS = Tally.exact(Main.class, "parksInside", WAVE / 10, 0);
    static final int THROWS = Tally.exact(Main.class, "yieldsThenThrows", WAVE / 5, WAVE / 5);
    static final int LEAF = Tally.exact(Main.class, "leaf", 2L * WAVE + WAVE / 10 + WAVE / 5, 0);
    static final int PINNED = Tally.exact(Main.class, "yieldsWithMonitor", WAVE / 100, 0);
    static final int OUTER = Tally.exact(Main.class, "staysInside", 0, 0);
    static final int INNER = Tally.exact(Main.class, "parkedInnermost", 0, 0);
    private final List<Thread> blocked = new ArrayList<>();
    private CountDownLatch release = new CountDownLatch(1);

    static long leaf(long x) {
        Tally.in(LEAF);
        return x * 31 + 7;
    }

    static long yieldsInside(long x) {
        Tally.in(YIELDS);
        Thread.yield();
        long y = leaf(x);
        Thread.yield();
        return y;
    }

    static long parksInside(long x) {
        Tally.in(PARKS);
        LockSupport.parkNanos(10_000);
        return leaf(x);
    }

    static long yieldsThenThrows(long x) {
        Tally.in(THROWS);
        Thread.yield();
        throw Tally.out(THROWS, new IllegalStateException(Long.toString(leaf(x))));
    }

    static long yieldsWithMonitor(Object lock, long x) {
        Tally.in(PINNED);
        synchronized (lock) {
            Thread.yield();
            return x + 1;
        }
    }

    static void bodyOfThread(int n, LongAdder sum) {
        Tally.in(BODY);
        long x = leaf(yieldsInside(n));
        if (n % 10 == 0) {
            x += parksInside(n);
        }
        if (n % 100 == 0) {
            x += yieldsWithMonitor(new Object(), n);
        }
        if (n % 5 == 0) {
            try {
                x += yieldsThenThrows(n);
            } catch (IllegalStateException e) {
                x += Long.parseLong(e.getMessage());
            }
        }
        sum.add(x);
    }

    @Override
    public long round() {
        LongAdder sum = new LongAdder();
        try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < WAVE; i++) {
                int n = i;
                executor.execute(() -> bodyOfThread(n, sum));
            }
        }
        return sum.sum();
    }

    static void staysInside(CountDownLatch arrived, CountDownLatch until) {
        Tally.in(OUTER);
        parkedInnermost(arrived, until);
    }

    static void parkedInnermost(CountDownLatch arrived, CountDownLatch until) {
        Tally.in(INNER);
        arrived.countDown();
        try {
            until.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Override
    public void block(int count) throws InterruptedException {
        CountDownLatch arrived = new CountDownLatch(count);
        CountDownLatch until = release;
        for (int i = 0; i < count; i++) {
            blocked.add(Thread.ofVirtual().start(() -> staysInside(arrived, until)));
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
