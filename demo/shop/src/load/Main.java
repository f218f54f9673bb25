package load;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Customers for the shop: {@code load.Main URL SECONDS [LOG]}. They shop until the time is over or standard input ends, and
 * what they saw is printed every few seconds; each request is written to the log. Ends with 1 if the shop did not answer as it should.
 */
public final class Main {
    private static final int SHOPPERS = 4;
    private static final int SECONDS_PER_REPORT = 5;
    private static final long SEED = 17;

    private Main() {
    }

    public static void main(String[] args) throws InterruptedException, IOException {
        if (args.length != 2 && args.length != 3) {
            System.err.println("usage: load.Main URL SECONDS [LOG]");
            System.exit(2);
        }
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(Long.parseLong(args[1]));
        CountDownLatch closed = new CountDownLatch(1);
        daemon(() -> awaitEndOfInput(closed));

        Tally tally = new Tally(args.length == 3 ? new PrintWriter(args[2]) : null);
        for (int i = 0; i < SHOPPERS; i++) {
            daemon(new Shopper(args[0], SEED + i, tally, closed));
        }
        while (closed.getCount() > 0 && System.nanoTime() < end) {
            long left = Math.min(end - System.nanoTime(), TimeUnit.SECONDS.toNanos(SECONDS_PER_REPORT));
            closed.await(left, TimeUnit.NANOSECONDS);
            System.out.print(tally.takeReport());
            System.out.flush();
        }
        System.exit(tally.failures() == 0 ? 0 : 1);
    }

    private static void awaitEndOfInput(CountDownLatch closed) {
        byte[] ignored = new byte[256];
        try {
            while (System.in.read(ignored) >= 0) {
                // Whatever is typed, only the end counts.
            }
        } catch (IOException e) {
            System.err.println("load: standard input: " + e.getMessage());
        } finally {
            closed.countDown();
        }
    }

    private static void daemon(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
    }
}
