import java.util.Arrays;
import java.util.Scanner;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Hands work to other threads in known ways, as often as a line says. For each way it prints how long the work took at least, by
 * its own clock, and at most, by that of the caller.
 */
public final class Handed {
    private static final int SERVE = 0, POOLED = 1, EXECUTED = 2, FORKED = 3, SUPPLIED = 4, APPLIED = 5, STARTED = 6, RELAYED = 7, LAST = 8, VIRTUAL = 9;
    private static final ExecutorService pool = Executors.newFixedThreadPool(2, Handed::daemon);
    private static final ExecutorService second = Executors.newSingleThreadExecutor(Handed::daemon);
    private static final ForkJoinPool forks = new ForkJoinPool(2); // nobody helps it
    private static final long[] least = new long[VIRTUAL + 1], most = new long[VIRTUAL + 1];
    private static long sum;
    private static volatile boolean isServing;
    private static final AtomicInteger turns = new AtomicInteger();
    private static volatile CountDownLatch left;

    public static void main(String[] args) throws Exception {
        boolean hasVirtual = Runtime.version().feature() >= 21;
        System.out.println("ready");
        for (Scanner in = new Scanner(System.in); in.hasNextInt();) {
            int rounds = in.nextInt();
            Arrays.fill(least, 0);
            Arrays.fill(most, 0);
            for (int i = 0; i < rounds; i++) {
                pool.submit(Handed::pooled).get(); // outside of the root
                second.submit(Thread::onSpinWait).get(); // its worker has waited for this task since before there were hooks
                isServing = true;
                long began = System.nanoTime();
                serve(hasVirtual);
                isServing = false;
                waited(began, SERVE);
            }
            StringBuilder line = new StringBuilder("done");
            for (int way = 0; way < least.length; way++) {
                line.append(' ').append(least[way]).append(' ').append(most[way]);
            }
            System.out.println(line);
        }
    }

    private static Thread daemon(Runnable body) {
        Thread thread = new Thread(body);
        thread.setDaemon(true);
        return thread;
    }

    static void serve(boolean hasVirtual) throws Exception {
        long whole = System.nanoTime();
        pool.submit(Handed::pooled).get();
        long began = waited(whole, POOLED);
        second.execute(Handed::executed);
        second.submit(Thread::onSpinWait).get(); // it has ended by now
        began = waited(began, EXECUTED);
        forks.submit(Handed::forked).get();
        began = waited(began, FORKED);
        CompletableFuture.supplyAsync(Handed::supplied, pool).thenApplyAsync(Handed::applied, pool).join();
        waited(began, SUPPLIED);
        began = waited(began, APPLIED);
        Thread thread = new Thread(Handed::started);
        thread.start();
        thread.join();
        began = waited(began, STARTED);
        pool.submit(Handed::relayed).get();
        waited(began, RELAYED);
        began = waited(began, LAST);
        left = new CountDownLatch(4);
        pool.submit(Handed::looped);
        left.await();
        began = System.nanoTime();
        if (hasVirtual) {
            Runnable body = Handed::virtual;
            ((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, body)).join();
            waited(began, VIRTUAL);
        }
        worked(whole, SERVE);
    }

    static void pooled() {
        spin(POOLED, System.nanoTime());
    }

    static void executed() {
        spin(EXECUTED, System.nanoTime());
    }

    static void forked() {
        spin(FORKED, System.nanoTime());
    }

    static int supplied() {
        return spin(SUPPLIED, System.nanoTime());
    }

    static int applied(int value) {
        return value + spin(APPLIED, System.nanoTime());
    }

    static void started() {
        spin(STARTED, System.nanoTime());
    }

    static void virtual() {
        spin(VIRTUAL, System.nanoTime());
    }

    static void relayed() {
        long began = System.nanoTime();
        try {
            second.submit(Handed::last).get();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        worked(began, RELAYED);
    }

    /** Submits itself, three times in all. */
    static void looped() {
        if (turns.incrementAndGet() % 4 != 0) {
            pool.submit(Handed::looped);
        }
        left.countDown();
    }

    static void last() {
        spin(LAST, System.nanoTime());
    }

    /** Computes for a time that is different for each way. */
    private static int spin(int way, long began) {
        while (System.nanoTime() - began < (1 + way) * 200_000L) {
            sum++;
        }
        worked(began, way);
        return way;
    }

    private static void worked(long began, int way) {
        least[way] += isServing ? System.nanoTime() - began : 0; // one thread works at a time
    }

    private static long waited(long began, int way) {
        long now = System.nanoTime();
        most[way] += now - began;
        return now;
    }
}
