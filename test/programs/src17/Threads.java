import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RecursiveTask;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.atomic.AtomicLong;

/** Threads of every make that share woven methods; sums and hand-overs do not depend on who runs first. */
public final class Threads {
    static int guarded;
    static volatile String uncaught;

    public static void main(String[] args) throws Exception {
        System.out.println("plain " + plain(8, 2000));
        System.out.println("pool " + pool());
        System.out.println("fork " + new ForkJoinPool(3).invoke(new Sum(0, 5000)));
        System.out.println("future " + CompletableFuture.supplyAsync(() -> work(10)).thenApply(n -> n + 1).get());
        System.out.println("guarded " + guarded());
        threadThatFails();
        interrupted();
        threadLocals();
    }

    static long plain(int threads, int rounds) throws InterruptedException {
        AtomicLong sum = new AtomicLong();
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(() -> {
                for (int round = 0; round < rounds; round++) {
                    sum.addAndGet(work(round % 7));
                }
            });
            all.add(thread);
            thread.start();
        }
        for (Thread thread : all) {
            thread.join();
        }
        return sum.get();
    }

    static int work(int n) {
        int result = 0;
        for (int i = 0; i <= n; i++) {
            result += i * i;
        }
        return result;
    }

    static int pool() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Callable<Integer>> tasks = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            int n = i;
            tasks.add(() -> work(n));
        }
        int sum = 0;
        for (Future<Integer> each : pool.invokeAll(tasks)) {
            sum += each.get();
        }
        pool.shutdown();
        while (!pool.isTerminated()) {
            Thread.onSpinWait();
        }
        return sum;
    }

    static final class Sum extends RecursiveTask<Long> {
        final int from;
        final int to;

        Sum(int from, int to) {
            this.from = from;
            this.to = to;
        }

        @Override
        protected Long compute() {
            if (to - from < 100) {
                long sum = 0;
                for (int i = from; i < to; i++) {
                    sum += i;
                }
                return sum;
            }
            int middle = (from + to) >>> 1;
            Sum left = new Sum(from, middle);
            left.fork();
            return new Sum(middle, to).compute() + left.join();
        }
    }

    static int guarded() throws InterruptedException {
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                for (int n = 0; n < 1000; n++) {
                    increment();
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        return guarded;
    }

    static synchronized void increment() {
        guarded++;
    }

    static void threadThatFails() throws InterruptedException {
        Thread thread = new Thread(() -> {
            throw new IllegalStateException("thread failed");
        }, "failing");
        thread.setUncaughtExceptionHandler((t, e) -> uncaught = t.getName() + ": " + e + " at " + e.getStackTrace()[0]);
        thread.start();
        thread.join();
        System.out.println(uncaught);
    }

    static void interrupted() throws InterruptedException {
        CountDownLatch entered = new CountDownLatch(1);
        StringBuffer log = new StringBuffer();
        Thread thread = new Thread(() -> {
            try {
                entered.countDown();
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                log.append("interrupted ").append(Thread.currentThread().isInterrupted());
            }
        });
        thread.start();
        entered.await();
        thread.interrupt();
        thread.join();
        System.out.println(log);
    }

    static void threadLocals() throws InterruptedException {
        ThreadLocal<int[]> local = ThreadLocal.withInitial(() -> new int[] {40});
        local.get()[0]++;
        Thread thread = new Thread(() -> System.out.println("other " + ++local.get()[0]));
        thread.start();
        thread.join();
        System.out.println("mine " + ++local.get()[0]);
    }
}
