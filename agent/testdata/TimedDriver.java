import java.util.concurrent.CountDownLatch;
import sonde.rt.Timed;

/**
 * Calls the runtime as woven methods would. Each line on standard output says how many nanoseconds something
 * took by the driver's own clock, as a bound for what the report may say.
 */
public final class TimedDriver {
    static final long TWO_MILLISECONDS = 2_000_000;

    public static void main(String[] args) throws Exception {
        long start = System.nanoTime();
        recurse(5);
        System.out.println("recurse " + (System.nanoTime() - start));
        sharedId();
        threadsThatEnd();
        start = System.nanoTime();
        exitNeverCame();
        System.out.println("healed " + (System.nanoTime() - start));
        manyMethods();
        stillRunning();
    }

    /** Spins at the bottom only, so that a sum over all activations would be five times too much. */
    static void recurse(int depth) {
        long token = Timed.enter(1, "recurse");
        if (depth > 1) {
            recurse(depth - 1);
        } else {
            spin();
        }
        Timed.exit(1, "recurse", token);
    }

    static void sharedId() {
        for (int i = 0; i < 7; i++) {
            long a = Timed.enter(2, "sharedId a");
            long b = Timed.enter(2, "sharedId b");
            Timed.exit(2, "sharedId b", b);
            Timed.exit(2, "sharedId a", a);
        }
        Timed.exit(2, "sharedId b", Timed.enter(2, "sharedId b"));
    }

    /** Collects garbage on the way, so that tables of ended threads are retired and not only walked. */
    static void threadsThatEnd() throws InterruptedException {
        for (int i = 0; i < 300; i++) {
            Thread thread = new Thread(() -> Timed.exit(3, "thread", Timed.enter(3, "thread")));
            thread.start();
            thread.join();
            if (i % 100 == 99) {
                System.gc();
            }
        }
    }

    static void exitNeverCame() {
        long outer = Timed.enter(4, "healed");
        long middle = Timed.enter(4, "healed");
        Timed.enter(4, "healed");
        Timed.exit(4, "healed", middle);
        Timed.enter(4, "healed");
        Timed.exit(4, "healed", outer);
        long second = Timed.enter(4, "healed");
        spin();
        Timed.exit(4, "healed", second);
    }

    /** Enough for the table to grow several times, with ids that all want the same slot. */
    static void manyMethods() {
        for (int i = 1; i <= 200; i++) {
            String name = ("many " + i).intern();
            Timed.exit(i << 8, name, Timed.enter(i << 8, name));
        }
    }

    static void stillRunning() throws InterruptedException {
        CountDownLatch inside = new CountDownLatch(1);
        Thread thread = new Thread(() -> {
            Timed.enter(5, "running");
            spin();
            inside.countDown();
            while (true) {
                Timed.exit(6, "busy", Timed.enter(6, "busy"));
            }
        });
        thread.setDaemon(true);
        thread.start();
        inside.await();
    }

    static void spin() {
        long start = System.nanoTime();
        while (System.nanoTime() - start < TWO_MILLISECONDS) {
            Thread.yield();
        }
    }
}
