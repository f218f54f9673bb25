import java.net.ServerSocket;
import java.nio.channels.Selector;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/** A program whose threads wait. Each thread has the name of what it waits for, and waits in a method of that name. */
public class Waits {
    interface Wait { void begin() throws Exception; }

    static final Object held = new Object(), busy = new StringBuilder(), never = new Object();
    static final ReentrantLock lock = new ReentrantLock();
    static volatile long sink;

    public static void main(String[] args) throws Exception {
        lock.lock();
        synchronized (held) {
            start("monitor", Waits::monitor);
            start("notification", Waits::notification);
            start("sleep", Waits::sleep);
            start("park", Waits::park);
            start("lock", Waits::lock);
            start("accept", Waits::accept);
            start("select", Waits::select);
            start("join", Waits::join);
            start("deep", () -> deep(2000));
            start("busy", Waits::busy);
            CountDownLatch hasIt = new CountDownLatch(1);
            start("keeper", () -> keeper(hasIt));
            hasIt.await();
            start("blocked", Waits::blocked);
            System.out.println("ready");
            while (System.in.read() >= 0) { }
            System.exit(0);
        }
    }

    static void start(String name, Wait wait) {
        Thread thread = new Thread(() -> {
            try {
                wait.begin();
            } catch (Exception e) {
                e.printStackTrace();
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }

    static void monitor() {
        synchronized (held) {
            sink++;
        }
    }

    static void keeper(CountDownLatch hasIt) {
        synchronized (busy) {
            hasIt.countDown();
            busy();
        }
    }

    static void blocked() {
        synchronized (busy) {
            sink++;
        }
    }

    static void notification() throws Exception {
        synchronized (never) {
            never.wait();
        }
    }

    static void sleep() throws Exception { Thread.sleep(3_600_000); }

    static void park() {
        while (true) {
            LockSupport.park();
        }
    }

    static void lock() { lock.lock(); }

    static void accept() throws Exception {
        try (ServerSocket socket = new ServerSocket(0)) {
            socket.accept();
        }
    }

    static void select() throws Exception {
        try (Selector selector = Selector.open()) {
            selector.select();
        }
    }

    static void join() throws Exception { new CountDownLatch(1).await(); }

    static void deep(int n) throws Exception {
        if (n > 0) {
            deep(n - 1);
        } else {
            sleep();
        }
    }

    static void busy() {
        while (true) {
            sink = sink * 31 + 7;
        }
    }
}
