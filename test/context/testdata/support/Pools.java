package support;

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Where tasks are handed to. */
public final class Pools {
    public static final ExecutorService FIXED = Executors.newFixedThreadPool(2);
    /** Runs in the caller what it has no room for. */
    public static final ExecutorService NARROW = new ThreadPoolExecutor(1, 1, 1, TimeUnit.MINUTES,
            new ArrayBlockingQueue<>(2), new ThreadPoolExecutor.CallerRunsPolicy());
    public static final ScheduledExecutorService SCHEDULED = Executors.newScheduledThreadPool(1);
    public static final ForkJoinPool FORKS = new ForkJoinPool(2);
    /** A virtual thread for each task where there are such, else a fixed pool. */
    public static final ExecutorService VIRTUAL = virtual();
    /** What a CompletableFuture uses where it is given no executor. */
    public static final Executor USUAL = new CompletableFuture<Integer>().defaultExecutor();
    private static final ConcurrentLinkedQueue<CompletableFuture<Integer>> PROMISES = new ConcurrentLinkedQueue<>();

    private Pools() {
    }

    private static ExecutorService virtual() {
        try {
            return (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        } catch (NoSuchMethodException e) {
            return FIXED; // before 21
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Runs something on a virtual thread of its own; in a pool where there are none. */
    public static void startVirtual(Runnable task) {
        try {
            Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
        } catch (NoSuchMethodException e) {
            FIXED.submit(task);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Runs something on a thread of its own, of the program's class or of the JDK's, or in a pool: threads are few. */
    public static void start(int choice, Runnable task) {
        switch (choice) {
            case 0: new Thread(task).start(); break;
            case 1: new Own(task).start(); break;
            default: FIXED.execute(task);
        }
    }

    private static final class Own extends Thread {
        private final Runnable task;

        Own(Runnable task) {
            this.task = task;
        }

        @Override
        public void run() {
            task.run();
        }
    }

    /** A future that whoever calls fulfil next completes, in the midst of what that does. */
    public static CompletableFuture<Integer> promise() {
        return new CompletableFuture<>();
    }

    /** To be called when all that follows the promise was said. */
    public static void offer(CompletableFuture<Integer> promise) {
        PROMISES.add(promise);
    }

    public static boolean fulfil() {
        CompletableFuture<Integer> promise = PROMISES.poll();
        if (promise != null) {
            promise.complete(1);
        }
        return promise != null;
    }

    static void end() {
        for (ExecutorService pool : new ExecutorService[] {FIXED, NARROW, SCHEDULED, FORKS, VIRTUAL}) {
            pool.shutdownNow();
        }
    }
}
