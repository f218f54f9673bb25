import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** Virtual threads that block inside woven methods, hold monitors, and fail. */
public final class VirtualThreads {
    static int guarded;

    public static void main(String[] args) throws Exception {
        System.out.println("sum " + manyTasks(500));
        System.out.println("relayed " + relay(20));
        failing();
        Thread[] threads = new Thread[20];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = Thread.startVirtualThread(() -> bump(50));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("guarded " + guarded);
    }

    static int manyTasks(int n) throws Exception {
        List<Future<Integer>> all = new ArrayList<>();
        try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < n; i++) {
                int number = i;
                all.add(executor.submit(() -> slowly(number)));
            }
        }
        int sum = 0;
        for (Future<Integer> each : all) {
            sum += each.get();
        }
        return sum;
    }

    static int slowly(int n) {
        for (int i = 0; i < 3; i++) {
            Thread.yield();
        }
        return n % 10;
    }

    /** A chain of threads, each waiting for the one before. */
    static int relay(int length) throws InterruptedException {
        SynchronousQueue<Integer> first = new SynchronousQueue<>();
        SynchronousQueue<Integer> last = first;
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < length; i++) {
            SynchronousQueue<Integer> from = last;
            SynchronousQueue<Integer> to = new SynchronousQueue<>();
            threads.add(Thread.startVirtualThread(() -> pass(from, to)));
            last = to;
        }
        first.put(1);
        int result = last.take();
        for (Thread thread : threads) {
            thread.join();
        }
        return result;
    }

    static void pass(SynchronousQueue<Integer> from, SynchronousQueue<Integer> to) {
        try {
            to.put(from.take() + 1);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void failing() throws InterruptedException {
        AtomicInteger seen = new AtomicInteger();
        Thread thread = Thread.ofVirtual().name("virtual").uncaughtExceptionHandler((t, e) -> {
            System.out.println(t.getName() + " failed: " + e.getMessage() + " at " + e.getStackTrace()[0]);
            seen.incrementAndGet();
        }).start(() -> {
            throw new IllegalStateException("inside");
        });
        thread.join();
        System.out.println("seen " + seen);
    }

    static synchronized void bump(int times) {
        for (int i = 0; i < times; i++) {
            guarded++;
        }
    }
}
