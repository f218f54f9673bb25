import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RecursiveAction;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Hands work to other threads in many ways; the work says in which context it was made. Ends with its input. */
public class Tasks {
    private static final String[] WAYS = {
        "plain", "pool", "stages", "fork", "periodic", "shared", "refused", "callerruns", "virtual", "throwing", "threads",
    };
    private static Map<String, Integer> truth = new TreeMap<>();

    /** A context that work can be made in: the value of the tag (none where null), and whether within is on the stack. */
    enum Context {
        NONE(null, false), ONE("one", true), TWO("two", true), NULL("null", true), TAGGED("one", false);

        final String tag;
        final boolean inside;

        Context(String tag, boolean inside) {
            this.tag = tag;
            this.inside = inside;
        }

        void run(Runnable body) {
            Runnable within = inside ? () -> within(body) : body;
            if (tag == null) {
                within.run();
            } else {
                tagged(tag.equals("null") ? null : tag, within);
            }
        }
    }

    interface Way {
        void take(Context context) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        for (String way : WAYS) {
            take(way, 2);
        }
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            truth = new TreeMap<>();
            take(words[0], Integer.parseInt(words[1]));
            StringBuilder told = new StringBuilder(words[0]).append(' ');
            for (Map.Entry<String, Integer> entry : truth.entrySet()) {
                told.append(entry.getKey()).append('=').append(entry.getValue()).append(' ');
            }
            System.out.println(told);
        }
    }

    private static void take(String way, int count) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        ScheduledExecutorService timer = Executors.newScheduledThreadPool(1);
        try {
            for (int i = 0; i < count; i++) {
                for (Context context : Context.values()) {
                    way(way, pool, timer).take(context);
                }
            }
        } finally {
            pool.shutdown();
            timer.shutdown();
        }
    }

    private static Way way(String way, ExecutorService pool, ScheduledExecutorService timer) {
        switch (way) {
            case "plain": return Tasks::plainly;
            case "pool": return context -> byPool(context, pool);
            case "stages": return context -> {
                byStages(context, ForkJoinPool.commonPool());
                byStages(context, pool);
                byStages(context, task -> new Thread(task).start());
            };
            case "fork": return Tasks::byForking;
            case "periodic": return context -> byTimer(context, timer);
            case "shared": return context -> shared(context);
            case "refused": return context -> refused(context);
            case "callerruns": return Tasks::byCaller;
            case "virtual": return Tasks::byVirtual;
            case "threads": return Tasks::byThread;
            case "throwing": return context -> throwing(context, pool);
            case "hold": return context -> hold(context, pool);
            case "release": return context -> release();
            case "own": return context -> own(context.ordinal());
            case "row": return context -> first(context);
            default: throw new IllegalArgumentException(way);
        }
    }

    private static void plainly(Context context) {
        context.run(() -> {
            p(context);
            Context.TWO.run(() -> p(Context.TWO));
            p(context);
        });
        p(Context.NONE);
    }

    private static void byPool(Context context, ExecutorService pool) throws Exception {
        CountDownLatch done = new CountDownLatch(1);
        List<Future<?>> made = new ArrayList<>();
        context.run(() -> {
            made.add(pool.submit(() -> p(context)));
            made.add(pool.submit(() -> {
                p(context);
                return 1;
            }));
            pool.execute(() -> {
                p(context);
                done.countDown();
            });
        });
        for (Future<?> future : made) {
            future.get();
        }
        done.await();
        pool.submit(() -> p(Context.NONE)).get();
        CountDownLatch last = new CountDownLatch(1);
        pool.execute(() -> {
            p(Context.NONE);
            last.countDown();
        });
        last.await();
    }

    /** What a stage does is of the context in which the stage was made, whoever completes what it depends on. */
    private static void byStages(Context context, Executor executor) throws Exception {
        CompletableFuture<Integer> begun = new CompletableFuture<>();
        CompletableFuture<Integer> other = new CompletableFuture<>();
        List<CompletableFuture<?>> made = new ArrayList<>();
        context.run(() -> {
            made.add(CompletableFuture.supplyAsync(() -> p(context), executor));
            made.add(CompletableFuture.runAsync(() -> p(context), executor));
            CompletableFuture<Integer> next = begun.thenApply(i -> i + p(context)).thenApplyAsync(i -> i + p(context), executor);
            made.add(next.thenCompose(i -> CompletableFuture.supplyAsync(() -> i + p(context), executor)));
            made.add(next.whenComplete((i, t) -> p(context)).thenAccept(i -> p(context)).thenRun(() -> p(context)));
            made.add(next.handle((i, t) -> p(context)));
            made.add(begun.thenCombine(other, (i, j) -> p(context)));
            made.add(begun.thenAcceptBothAsync(other, (i, j) -> p(context), executor));
            made.add(begun.runAfterBoth(other, () -> p(context)));
            made.add(begun.applyToEither(new CompletableFuture<Integer>(), i -> p(context)));
            made.add(begun.acceptEither(new CompletableFuture<Integer>(), i -> p(context)));
            made.add(begun.runAfterEitherAsync(new CompletableFuture<Integer>(), () -> p(context), executor));
            made.add(begun.thenApply(i -> i / 0).exceptionally(t -> p(context)));
        });
        made.add(begun.thenApply(i -> p(Context.NONE)));
        Context.TWO.run(() -> made.add(begun.thenApplyAsync(i -> p(Context.TWO), executor)));
        Thread completer = new Thread(() -> {
            Context.ONE.run(() -> begun.complete(0));
            other.complete(0);
            p(Context.NONE);
        });
        completer.start();
        for (CompletableFuture<?> future : made) {
            future.get();
        }
        completer.join();
    }

    private static void byForking(Context context) {
        ForkJoinPool pool = new ForkJoinPool(2);
        try {
            List<Future<?>> made = new ArrayList<>();
            context.run(() -> made.add(pool.submit(new Branch(context, 4))));
            made.add(pool.submit(new Branch(Context.NONE, 3)));
            for (Future<?> future : made) {
                join(future);
            }
        } finally {
            pool.shutdown();
        }
    }

    private static void join(Future<?> future) {
        try {
            future.get();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    static class Branch extends RecursiveAction {
        private final Context context;
        private final int deep;

        Branch(Context context, int deep) {
            this.context = context;
            this.deep = deep;
        }

        @Override
        protected void compute() {
            p(context);
            if (deep > 0) {
                Branch left = new Branch(context, deep - 1);
                left.fork();
                new Branch(context, deep - 1).compute();
                left.join();
            }
        }
    }

    private static void byTimer(Context context, ScheduledExecutorService timer) throws Exception {
        CountDownLatch done = new CountDownLatch(3);
        List<Future<?>> made = new ArrayList<>();
        context.run(() -> {
            made.add(timer.schedule(() -> p(context), 1, TimeUnit.MICROSECONDS));
            made.add(timer.scheduleWithFixedDelay(() -> {
                if (done.getCount() > 0) {
                    p(context);
                    done.countDown();
                }
            }, 0, 1, TimeUnit.MICROSECONDS));
        });
        made.get(0).get();
        done.await();
        made.get(1).cancel(false);
    }

    /** One object is submitted in two contexts before it starts: its context is unknown. */
    private static void shared(Context context) throws Exception {
        ExecutorService one = Executors.newFixedThreadPool(1);
        CountDownLatch go = new CountDownLatch(1);
        CountDownLatch done = new CountDownLatch(4);
        Context meant = context == Context.NONE ? context : Context.NONE;
        Runnable task = () -> {
            p(meant);
            done.countDown();
        };
        one.submit(() -> {
            go.await();
            return 0;
        });
        context.run(() -> {
            one.execute(task);
            one.execute(task);
        });
        one.execute(task);
        go.countDown();
        one.submit(() -> 0).get();
        Runnable again = () -> {
            p(context);
            done.countDown();
        };
        context.run(() -> one.execute(again));
        done.await();
        one.shutdown();
    }

    private static void refused(Context context) throws Exception {
        ThreadPoolExecutor none = new ThreadPoolExecutor(1, 1, 1, TimeUnit.MINUTES, new SynchronousQueue<>());
        CountDownLatch go = new CountDownLatch(1);
        CountDownLatch done = new CountDownLatch(1);
        none.execute(() -> {
            try {
                go.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        Runnable task = () -> {
            p(context);
            done.countDown();
        };
        Context.TWO.run(() -> {
            try {
                none.execute(task);
            } catch (RejectedExecutionException expected) {
                // nobody runs it
            }
        });
        go.countDown();
        none.shutdown();
        none.awaitTermination(1, TimeUnit.MINUTES);
        ExecutorService other = Executors.newFixedThreadPool(1);
        context.run(() -> other.execute(task));
        done.await();
        other.shutdown();
    }

    /** The thread that hands over runs the task itself, which may be one of another context. */
    private static void byCaller(Context context) {
        ThreadPoolExecutor pool = new ThreadPoolExecutor(1, 1, 1, TimeUnit.MINUTES, new LinkedBlockingQueue<>(1),
                new ThreadPoolExecutor.CallerRunsPolicy());
        CountDownLatch go = new CountDownLatch(1);
        try {
            pool.submit(() -> {
                go.await();
                return 0;
            });
            pool.submit(() -> 0);
            context.run(() -> {
                join(pool.submit(() -> p(context)));
                p(context);
            });
            List<java.util.concurrent.FutureTask<?>> made = new ArrayList<>();
            context.run(() -> made.add(new java.util.concurrent.FutureTask<Object>(() -> p(context), null)));
            Context.TWO.run(() -> {
                made.get(0).run();
                p(Context.TWO);
            });
            made.clear();
            made.add(new java.util.concurrent.FutureTask<Object>(() -> p(Context.NONE), null));
            context.run(() -> {
                made.get(0).run();
                p(context);
            });
        } finally {
            go.countDown();
            pool.shutdown();
        }
    }

    private static void byVirtual(Context context) throws Exception {
        List<Thread> threads = new ArrayList<>();
        try {
            Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException before21) {
            return;
        }
        for (int i = 0; i < 20; i++) {
            context.run(() -> threads.add(virtual(() -> {
                p(context);
                Thread.yield();
                p(context);
                Context.TWO.run(() -> p(Context.TWO));
                threads.get(0).isAlive();
                Thread below = virtual(() -> p(context));
                try {
                    below.join();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            })));
            threads.add(virtual(() -> p(Context.NONE)));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        ExecutorService each = (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        List<Future<?>> made = new ArrayList<>();
        context.run(() -> made.add(each.submit(() -> p(context))));
        made.add(each.submit(() -> p(Context.NONE)));
        for (Future<?> future : made) {
            future.get();
        }
        each.shutdown();
    }

    private static void byThread(Context context) throws Exception {
        Runnable body = () -> {
            p(context);
            Context.TWO.run(() -> p(Context.TWO));
            p(context);
            Thread below = new Thread(() -> p(context));
            below.start();
            await(below);
        };
        Thread[] threads = {
            new Thread(body),
            new Thread() {
                @Override
                public void run() {
                    body.run();
                }
            },
            new Thread(() -> p(Context.NONE)),
        };
        context.run(() -> {
            threads[0].start();
            threads[1].start();
        });
        threads[2].start();
        for (Thread thread : threads) {
            await(thread);
        }
        // The threads of pools and timers work for others than the one in which they were started.
        ExecutorService pool = Executors.newFixedThreadPool(1, worker -> new Thread(() -> {
            p(context);
            worker.run();
        }));
        java.util.Timer[] timer = new java.util.Timer[1];
        context.run(() -> {
            pool.execute(() -> p(context));
            timer[0] = new java.util.Timer();
        });
        pool.submit(() -> p(Context.NONE)).get();
        pool.shutdown();
        CountDownLatch done = new CountDownLatch(1);
        timer[0].schedule(new java.util.TimerTask() {
            @Override
            public void run() {
                p(Context.NONE);
                done.countDown();
            }
        }, 0);
        done.await();
        timer[0].cancel();
    }

    private static void await(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static Thread virtual(Runnable task) {
        try {
            return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    private static void throwing(Context context, ExecutorService pool) throws Exception {
        for (Context outer : Context.values()) {
            try {
                outer.run(() -> context.run(() -> {
                    throw new IllegalStateException();
                }));
            } catch (IllegalStateException expected) {
                p(Context.NONE);
            }
        }
        List<Future<?>> made = new ArrayList<>();
        context.run(() -> made.add(pool.submit(() -> {
            p(context);
            throw new IllegalStateException();
        })));
        try {
            made.get(0).get();
        } catch (java.util.concurrent.ExecutionException expected) {
            pool.submit(() -> p(Context.NONE)).get();
        }
    }

    private static CountDownLatch release;
    private static CountDownLatch released;

    /** Has three threads stay in a context, one of them by a task, until they are released. */
    private static void hold(Context context, ExecutorService pool) throws Exception {
        if (context != Context.ONE) {
            return;
        }
        CountDownLatch held = new CountDownLatch(3);
        CountDownLatch go = new CountDownLatch(1);
        release = go;
        released = new CountDownLatch(3);
        Runnable wait = () -> {
            held.countDown();
            try {
                go.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        };
        Runnable after = () -> {
            p(Context.NONE);
            Context.TWO.run(() -> p(Context.TWO));
            p(Context.NONE);
            released.countDown();
        };
        new Thread(() -> {
            context.run(wait);
            after.run();
        }).start();
        start(() -> {
            context.run(wait);
            after.run();
        });
        ExecutorService one = Executors.newFixedThreadPool(1);
        context.run(() -> one.submit(wait));
        one.submit(after);
        one.shutdown();
        held.await();
    }

    private static void start(Runnable task) {
        try {
            virtual(task);
        } catch (AssertionError before21) {
            new Thread(task).start();
        }
    }

    private static void release() throws InterruptedException {
        release.countDown();
        released.await();
    }

    /** Watched by a condition that calls it. */
    static int own(int number) {
        truth.merge("calls", 1, Integer::sum);
        return number;
    }

    /** Watched by a condition that fails. */
    static int unclear(int number) {
        return 1 / number;
    }

    static int first(Context context) {
        return second(context) + (context.inside ? second(context) + last(context) : 0);
    }

    static int second(Context context) {
        return last(context);
    }

    static int last(Context context) {
        truth.merge("calls", 1, Integer::sum);
        return 0;
    }

    /** Sets the tag. */
    static void tagged(String value, Runnable body) {
        body.run();
    }

    /** The anchor, and the root of transactions. */
    static void within(Runnable body) {
        body.run();
    }

    /** What is watched; says in which context it should be. */
    static int p(Context context) {
        synchronized (truth) {
            truth.merge("calls", 1, Integer::sum);
            if (context.inside) {
                truth.merge("inside", 1, Integer::sum);
            }
            truth.merge("tag:" + context.tag, 1, Integer::sum);
        }
        return 0;
    }
}
