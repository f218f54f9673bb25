package blocking;

import harness.Tally;
import harness.Workload;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** Methods that are still running when somebody looks. A round is a blocked thread let go at once. */
public final class Main implements Workload {
    // One round each; block and unblock add what they start, so that these hold without them only.
    static final int OUTERMOST = Tally.exact(Main.class, "outermost", 1, 0);
    static final int MIDDLE = Tally.exact(Main.class, "recursiveMiddle", 4, 0);
    static final int CATCHES = Tally.exact(Main.class, "catchesWhenLetGo", 1, 0);
    static final int HOLDS = Tally.exact(Gate.class, "holdsMonitorAndWaits", 1, 1);
    static final int AFTER = Tally.exact(Main.class, "afterwards", 1, 0);
    private final List<Thread> threads = new ArrayList<>();
    private CountDownLatch release = new CountDownLatch(1);

    /** One per thread, so that all can hold its monitor at once. */
    static final class Gate {
        synchronized void holdsMonitorAndWaits(CountDownLatch arrived, CountDownLatch release) {
            Tally.in(HOLDS);
            arrived.countDown();
            try {
                release.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            throw Tally.out(HOLDS, new IllegalStateException("let go"));
        }
    }

    static int outermost(CountDownLatch arrived, CountDownLatch release) {
        Tally.in(OUTERMOST);
        int sum = recursiveMiddle(3, arrived, release);
        return sum + afterwards();
    }

    static int recursiveMiddle(int n, CountDownLatch arrived, CountDownLatch release) {
        Tally.in(MIDDLE);
        return n == 0 ? catchesWhenLetGo(arrived, release) : 1 + recursiveMiddle(n - 1, arrived, release);
    }

    static int catchesWhenLetGo(CountDownLatch arrived, CountDownLatch release) {
        Tally.in(CATCHES);
        try {
            new Gate().holdsMonitorAndWaits(arrived, release);
        } catch (IllegalStateException e) {
            return e.getMessage().length();
        }
        return 0;
    }

    static int afterwards() {
        Tally.in(AFTER);
        return 50;
    }

    @Override
    public long round() {
        return outermost(new CountDownLatch(1), new CountDownLatch(0));
    }

    @Override
    public void block(int count) throws InterruptedException {
        CountDownLatch arrived = new CountDownLatch(count);
        CountDownLatch until = release;
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(null, () -> outermost(arrived, until), "blocked-" + i, 256L << 10);
            threads.add(thread);
            thread.start();
        }
        arrived.await();
    }

    @Override
    public void unblock() throws InterruptedException {
        release.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        threads.clear();
        release = new CountDownLatch(1);
    }
}
