package drilled;

import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Serves orders until its input ends. Each problem makes some of them slow: by a lock that another thread has, for one
 * tenant, by a callee three levels down, by a task on another thread, or not at all. Slow ones take far longer than everything else.
 */
public final class Drilled {
    static final long SLOW_MILLIS = 60;
    private static volatile long sink;
    private static boolean isLate;

    enum Tier { GUEST, REGULAR, PREMIUM }

    record Order(int number, String tenant, Tier tier) { }

    /** The lock of the first problem. */
    static final class Ledger {
        private int entries;

        synchronized void add() {
            entries++;
        }

        synchronized void close(CountDownLatch held, CountDownLatch free) throws InterruptedException {
            held.countDown();
            free.await();
        }
    }

    interface Shop {
        void serve(Order order) throws Exception;
    }

    /** Waits for a lock that the thread "closing" has. */
    static class Locked implements Shop {
        private final Ledger ledger = new Ledger();

        @Override
        public void serve(Order order) throws Exception {
            look(order);
            if (!order.tenant().equals("globex")) {
                book(order);
                return;
            }
            CountDownLatch held = new CountDownLatch(1);
            CountDownLatch free = new CountDownLatch(1);
            Thread closing = new Thread(() -> hold(held, free), "closing");
            closing.start();
            held.await();
            Thread timer = new Thread(() -> release(free), "timer");
            timer.start();
            book(order);
            closing.join();
            timer.join();
        }

        void hold(CountDownLatch held, CountDownLatch free) {
            try {
                ledger.close(held, free);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        private static void release(CountDownLatch free) {
            pause();
            free.countDown();
        }

        void book(Order order) {
            sink += order.number();
            ledger.add();
        }
    }

    /** The same with a lock of java.util.concurrent. */
    static final class Guarded extends Locked {
        private final ReentrantLock lock = new ReentrantLock();

        @Override
        void hold(CountDownLatch held, CountDownLatch free) {
            lock.lock();
            try {
                held.countDown();
                free.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            } finally {
                lock.unlock();
            }
        }

        @Override
        void book(Order order) {
            lock.lock();
            sink += order.number();
            lock.unlock();
        }
    }

    /** Slow for one tenant, in a callee three levels down, or elsewhere when it is late. */
    static final class Deep implements Shop {
        @Override
        public void serve(Order order) {
            look(order);
            price(order);
            ship(order);
        }

        void price(Order order) {
            sink += look(order);
            discount(order);
        }

        void discount(Order order) {
            sink += look(order);
            if (order.tenant().equals("globex") && !isLate) {
                history(order);
            }
        }

        void history(Order order) {
            sink += look(order);
            pause();
        }

        void ship(Order order) {
            sink += look(order);
            if (isLate && order.tenant().equals("globex")) {
                pause();
            }
        }
    }

    /** Sleeps itself, for premium customers of one tenant. */
    static final class Sleepy implements Shop {
        @Override
        public void serve(Order order) {
            sink += look(order);
            if (order.tenant().equals("globex") && order.tier() == Tier.PREMIUM) {
                pause();
            }
        }
    }

    /** Waits for a task on another thread, which is slow for one tenant. */
    static final class Handing implements Shop {
        private final ExecutorService pool = Executors.newSingleThreadExecutor(work -> {
            Thread thread = new Thread(work, "pool");
            thread.setDaemon(true);
            return thread;
        });

        @Override
        public void serve(Order order) throws Exception {
            sink += look(order);
            await(pool.submit(new Job(order)));
        }

        void await(Future<Long> result) throws Exception {
            sink += result.get();
        }
    }

    record Job(Order order) implements Callable<Long> {
        @Override
        public Long call() {
            return work() + look(order);
        }

        long work() {
            if (order.tenant().equals("globex")) {
                pause();
            }
            return look(order);
        }
    }

    static final class Healthy implements Shop {
        @Override
        public void serve(Order order) {
            sink += look(order);
        }
    }

    static void pause() {
        try {
            Thread.sleep(SLOW_MILLIS);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static long look(Order order) {
        long x = order.number() * 31L + 7;
        for (int i = 0; i < 40; i++) {
            x = x * 25214903917L + 11 ^ x >>> 7;
        }
        return x;
    }

    public static void main(String[] args) throws Exception {
        isLate = args[0].equals("late");
        Shop shop = switch (args[0]) {
            case "lock" -> new Locked();
            case "guard" -> new Guarded();
            case "deep", "late" -> new Deep();
            case "sleep" -> new Sleepy();
            case "task" -> new Handing();
            default -> new Healthy();
        };
        String[] tenants = {"acme", "globex", "initech", "umbrella"};
        Thread worker = new Thread(() -> {
            try {
                for (int i = 0; ; i++) {
                    shop.serve(new Order(i, tenants[i % 4], Tier.values()[i / 4 % 3]));
                    Thread.sleep(2);
                }
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }, "worker");
        worker.setDaemon(true);
        worker.start();
        System.out.println("ready");
        while (System.in.read() >= 0) {
            // until its input ends
        }
    }
}
