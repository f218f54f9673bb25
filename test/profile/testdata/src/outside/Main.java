package outside;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import ledger.Fixture;
import ledger.Ledger;

/**
 * The same methods, called below the root and, at the same time on other threads, outside of it:
 * by threads that never entered the root, and by one that was started inside.
 */
public final class Main extends Fixture {
    private static final int TIMES = 200;

    @Override
    public long round() throws Exception {
        CountDownLatch begun = new CountDownLatch(2);
        List<Thread> others = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            Thread thread = new Thread(() -> elsewhere(begun), "elsewhere-" + i);
            others.add(thread);
            thread.start();
        }
        begun.await();
        long sum = work(1) + root() + work(1);
        for (Thread thread : others) {
            thread.join();
        }
        return sum;
    }

    private static void elsewhere(CountDownLatch begun) {
        begun.countDown();
        for (int i = 0; i < TIMES; i++) {
            work(i);
        }
    }

    static long root() throws InterruptedException {
        Ledger.Call call = Ledger.root("outside/Main.root()J");
        Thread started = new Thread(() -> work(7), "started-inside");
        started.start();
        long sum = 0;
        for (int i = 0; i < TIMES; i++) {
            sum += work(i);
        }
        started.join();
        return Ledger.out(call, sum);
    }

    private static long work(int i) {
        Ledger.Call call = Ledger.in("outside/Main.work(I)J");
        long sum = leaf(i);
        try {
            sum += throwing(i);
        } catch (IllegalStateException e) {
            sum++;
        }
        return Ledger.out(call, sum);
    }

    private static long leaf(int i) {
        Ledger.count("outside/Main.leaf(I)J");
        return i * 3L;
    }

    private static long throwing(int i) {
        if (i % 3 == 0) {
            throw Ledger.threw("outside/Main.throwing(I)J", new IllegalStateException("third"));
        }
        Ledger.count("outside/Main.throwing(I)J");
        return i;
    }
}
