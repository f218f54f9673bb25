package monitored;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** Does what its input says, and knows what it did: calls, calls that fail, threads that wait, calls that hang. */
public final class Monitored {
    private Monitored() {
    }

    static final class Order {
        private static long sum;

        private Order() {
        }

        static void pay(int n) {
            sum += n;
            if (n % 5 == 0) {
                throw new IllegalStateException("refused");
            }
        }

        static void waits(CountDownLatch inside, CountDownLatch release) {
            inside.countDown();
            await(release);
        }

        static void serve(CountDownLatch inside, CountDownLatch release) {
            hang(inside, release);
        }

        static void hang(CountDownLatch inside, CountDownLatch release) {
            inside.countDown();
            await(release);
        }
    }

    static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Makes so many calls, and returns how many failed. */
    static int call(int calls) {
        int failed = 0;
        for (int n = 1; n <= calls; n++) {
            try {
                Order.pay(n);
            } catch (IllegalStateException e) {
                failed++;
            }
        }
        return failed;
    }

    static Thread start(Runnable task, boolean virtual) throws Exception {
        if (virtual) { // which a compiler of 17 does not know
            return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
        }
        Thread thread = new Thread(task);
        thread.start();
        return thread;
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        List<Thread> threads = new ArrayList<>();
        CountDownLatch[] release = {new CountDownLatch(1)};
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            int n = words.length > 1 ? Integer.parseInt(words[1]) : 1;
            CountDownLatch inside = new CountDownLatch(n);
            CountDownLatch end = release[0];
            switch (words[0]) {
                case "call":
                    System.out.println("called " + n + " failed " + call(n));
                    break;
                case "crowd":
                case "virtual":
                    for (int i = 0; i < n; i++) {
                        threads.add(start(() -> Order.waits(inside, end), words[0].equals("virtual")));
                    }
                    inside.await();
                    System.out.println("inside " + n);
                    break;
                case "hang":
                    threads.add(start(() -> Order.serve(inside, end), false));
                    inside.await();
                    System.out.println("hanging");
                    break;
                default:
                    end.countDown();
                    for (Thread thread : threads) {
                        thread.join();
                    }
                    threads.clear();
                    release[0] = new CountDownLatch(1);
                    System.out.println("released");
            }
        }
        release[0].countDown();
    }
}
