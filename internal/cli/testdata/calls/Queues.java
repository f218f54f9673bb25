package calls;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Tasks that wait for the one thread of a pool, which is kept busy until all are submitted. A line "work N" does this N times. The program
 * measures how long they wait at least, from the end of the submission until the thread is free, and at most, from its beginning
 * until the task runs.
 */
public final class Queues {
    private static final Semaphore DONE = new Semaphore(0);
    private static final List<Wait> WAITS = new ArrayList<>();

    private Queues() {
    }

    /** The sums over all tasks of a class. Each class has its own run method. */
    private static class Wait {
        private final String name;
        private int submitted;
        private long before;
        private long after;
        private long least;
        private long most;

        Wait(String name) {
            this.name = name;
            WAITS.add(this);
        }

        void submit(Runnable how) {
            before += System.nanoTime();
            how.run();
            after += System.nanoTime();
            submitted++;
        }

        synchronized void begin() {
            most += System.nanoTime();
        }

        void free(long now) {
            least += submitted * now - after;
        }

        synchronized void endOfRound() {
            most -= before;
            before = 0;
            after = 0;
            submitted = 0;
        }
    }

    private static final class Submitted extends Wait implements Runnable {
        Submitted() {
            super("Submitted");
        }

        @Override
        public void run() {
            begin();
            DONE.release();
        }
    }

    private static final class Executed extends Wait implements Runnable {
        Executed() {
            super("Executed");
        }

        @Override
        public void run() {
            begin();
            DONE.release();
        }
    }

    private static final class Asked extends Wait implements Callable<Integer> {
        Asked() {
            super("Asked");
        }

        @Override
        public Integer call() {
            begin();
            DONE.release();
            return 1;
        }
    }

    private static final class Scheduled extends Wait implements Runnable {
        Scheduled() {
            super("Scheduled");
        }

        @Override
        public void run() {
            begin();
            DONE.release();
        }
    }

    private static final class Periodic extends Wait implements Runnable {
        Periodic() {
            super("Periodic");
        }

        @Override
        public void run() {
            begin();
            DONE.release();
        }
    }

    private static final class Async extends Wait implements Runnable {
        Async() {
            super("Async");
        }

        @Override
        public void run() {
            begin();
            DONE.release();
        }
    }

    private static final class Staged extends Wait implements Runnable {
        Staged() {
            super("Staged");
        }

        @Override
        public void run() {
            begin();
            DONE.release();
        }
    }

    private static final class Forked extends Wait implements Runnable {
        Forked() {
            super("Forked");
        }

        @Override
        public void run() {
            begin();
            DONE.release();
        }
    }

    private static final class Virtual extends Wait implements Runnable {
        Virtual() {
            super("Virtual");
        }

        @Override
        public void run() {
            begin();
            DONE.release();
        }
    }

    /** Keeps the thread of a pool busy. */
    private static final class Busy implements Runnable {
        private final Semaphore isRunning = new Semaphore(0);
        private final CountDownLatch end;

        Busy(CountDownLatch end) {
            this.end = end;
        }

        @Override
        public void run() {
            isRunning.release();
            try {
                end.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** The executor of virtual threads; null if this JDK has none. */
    private static ExecutorService virtual() {
        try {
            return (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        } catch (ReflectiveOperationException before21) {
            return null;
        }
    }

    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(1);
        ScheduledExecutorService scheduled = Executors.newScheduledThreadPool(1);
        ExecutorService forks = new ForkJoinPool(1);
        ExecutorService virtual = virtual();
        Submitted submitted = new Submitted();
        Executed executed = new Executed();
        Asked asked = new Asked();
        Scheduled delayed = new Scheduled();
        Periodic periodic = new Periodic();
        Async async = new Async();
        Staged staged = new Staged();
        Forked forked = new Forked();
        Virtual onVirtual = virtual == null ? null : new Virtual();
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            int rounds = Integer.parseInt(line.substring("work ".length()));
            for (int i = 0; i < rounds; i++) {
                CountDownLatch end = new CountDownLatch(1);
                for (ExecutorService one : new ExecutorService[] {pool, scheduled, forks}) {
                    Busy busy = new Busy(end);
                    one.execute(busy);
                    busy.isRunning.acquire();
                }
                CompletableFuture<Void> first = new CompletableFuture<>();
                first.thenRunAsync(staged, pool);
                List<Future<?>> repeated = new ArrayList<>();
                submitted.submit(() -> pool.submit(submitted));
                executed.submit(() -> pool.execute(executed));
                asked.submit(() -> pool.submit(asked));
                delayed.submit(() -> scheduled.schedule(delayed, 0, TimeUnit.SECONDS));
                periodic.submit(() -> repeated.add(scheduled.scheduleAtFixedRate(periodic, 0, 1, TimeUnit.DAYS)));
                async.submit(() -> CompletableFuture.runAsync(async, pool));
                executed.submit(() -> pool.execute(executed)); // the same object once more
                staged.submit(() -> first.complete(null));
                forked.submit(() -> forks.submit(forked));
                executed.submit(() -> pool.execute(executed));
                long now = System.nanoTime();
                for (Wait wait : WAITS) {
                    wait.free(now);
                }
                end.countDown();
                DONE.acquire(10);
                if (onVirtual != null) { // these have to wait for nobody
                    onVirtual.submit(() -> virtual.submit(onVirtual));
                    DONE.acquire();
                }
                for (Future<?> one : repeated) {
                    one.cancel(false);
                }
                for (Wait wait : WAITS) {
                    wait.endOfRound();
                }
            }
            System.gc();
            StringBuilder text = new StringBuilder("did");
            for (Wait wait : WAITS) {
                text.append(' ').append(wait.name).append(':').append(wait.least).append(':').append(wait.most);
            }
            System.out.println(text);
        }
        System.exit(0);
    }
}
