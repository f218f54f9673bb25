import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.CountDownLatch;
import java.util.zip.Deflater;

/** Divides its time into known parts: it computes, sleeps, waits for a lock, and has the JDK work. */
public final class Parts {
    private static final int COMPUTE = 0, NAP = 1, GUARDED = 2, PACK = 3;
    private static final long MILLI = 1_000_000;
    private static final Object LOCK = new Object();
    private static final long[] times = new long[4];
    private static long rounds, sum;
    private static volatile CountDownLatch holding;

    public static void main(String[] args) throws Exception {
        start(Parts::hold, "holder");
        start(Parts::work, "worker");
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        while (commands.readLine() != null) {
            synchronized (times) {
                System.out.printf("%d %d %d %d %d%n", rounds, times[COMPUTE], times[NAP], times[GUARDED], times[PACK]);
            }
        }
        System.exit(0);
    }

    private static void start(Runnable body, String name) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
    }

    private static void work() {
        long[] last = new long[4];
        while (true) {
            CountDownLatch held = new CountDownLatch(1);
            holding = held;
            await(held);
            serve(last);
            synchronized (times) {
                rounds++;
                for (int i = 0; i < last.length; i++) {
                    times[i] += last[i];
                }
            }
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Holds the lock for a time, whenever it is asked to. */
    private static void hold() {
        while (true) {
            CountDownLatch held = holding;
            if (held == null || held.getCount() == 0) {
                Thread.onSpinWait();
                Thread.yield();
                continue;
            }
            synchronized (LOCK) {
                held.countDown();
                nap(9);
            }
        }
    }

    static void serve(long[] took) {
        long began = System.nanoTime();
        guarded();
        long next = System.nanoTime();
        took[GUARDED] = next - began;
        began = next;
        nap(3);
        next = System.nanoTime();
        took[NAP] = next - began;
        began = next;
        pack();
        next = System.nanoTime();
        took[PACK] = next - began;
        began = next;
        while (System.nanoTime() - began < 4 * MILLI) {
            sum++;
        }
        took[COMPUTE] = System.nanoTime() - began;
    }

    static void nap(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void guarded() {
        synchronized (LOCK) {
            sum++;
        }
    }

    static void pack() {
        byte[] from = new byte[1 << 14];
        byte[] to = new byte[1 << 15];
        long began = System.nanoTime();
        while (System.nanoTime() - began < 4 * MILLI) {
            for (int i = 0; i < from.length; i++) {
                from[i] = (byte) (i * sum >> 3);
            }
            Deflater deflater = new Deflater();
            deflater.setInput(from);
            deflater.finish();
            sum += deflater.deflate(to);
            deflater.end();
        }
    }
}
