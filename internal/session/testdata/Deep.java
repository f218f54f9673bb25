import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.atomic.AtomicLong;

/** Recurses deeper than a tree of calls is kept, in virtual threads, while others take turns. */
public final class Deep {
    private static final AtomicLong DOWNS = new AtomicLong();
    private static final AtomicLong PLAINS = new AtomicLong();

    static int down(int levels) {
        DOWNS.incrementAndGet();
        int below = levels == 0 ? 0 : down(levels - 1) + 1;
        for (int i = 0; levels % 8 == 0 && i < 3; i++) {
            Thread.yield();
        }
        return below;
    }

    static void turns() {
        for (int i = 0; i < 50; i++) {
            Thread.yield();
            plain();
        }
    }

    static void plain() {
        PLAINS.incrementAndGet();
    }

    static void inside() {
    }

    public static void main(String[] args) throws InterruptedException {
        Scanner orders = new Scanner(System.in);
        System.out.println("ready");
        while (orders.hasNextLine()) {
            String order = orders.nextLine();
            if (order.equals("deep")) {
                deep();
                System.out.println("done " + DOWNS + " " + PLAINS);
            } else if (order.equals("displaced")) {
                displaced();
                System.out.println("done");
            }
        }
    }

    private static void deep() throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            threads.add(Thread.ofVirtual().start(() -> down(6000)));
        }
        for (int i = 0; i < 6000; i++) {
            threads.add(Thread.ofVirtual().start(Deep::turns));
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    /** Calls a method in a thread whose first choice of a place is another's. */
    private static void displaced() throws InterruptedException {
        Object leave = new Object();
        Thread first = new Thread(() -> {
            synchronized (leave) {
                plain();
                leave.notifyAll();
                try {
                    leave.wait();
                } catch (InterruptedException e) {
                    return;
                }
            }
        });
        synchronized (leave) {
            first.start();
            leave.wait();
        }
        Thread second;
        do {
            second = new Thread(() -> {
                plain();
                inside();
            });
        } while ((second.threadId() - first.threadId()) % 4096 != 0);
        second.start();
        second.join();
        synchronized (leave) {
            leave.notifyAll();
        }
        first.join();
    }
}
