package locked;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/** Two threads wait for a monitor, two for a lock, and one for work. It ends with its standard input. */
public final class Locked {
    private static final ReentrantLock GATE = new ReentrantLock();
    private static final Vault VAULT = new Vault();

    private Locked() {
    }

    private static final class Vault {
        synchronized void open() {
            LockSupport.park();
        }
    }

    private static void start(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
    }

    private static void await(String name, Thread.State state) throws InterruptedException {
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            while (thread.getName().equals(name) && thread.getState() != state) {
                Thread.yield();
            }
        }
    }

    private static void holdGate() {
        GATE.lock();
        LockSupport.park();
    }

    private static void passGate() {
        GATE.lock();
        GATE.unlock();
    }

    private static void work(LinkedBlockingQueue<Runnable> queue) {
        try {
            queue.take().run();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    public static void main(String[] args) throws Exception {
        start("owner", VAULT::open);
        start("keeper", Locked::holdGate);
        await("owner", Thread.State.WAITING);
        await("keeper", Thread.State.WAITING);
        for (int i = 0; i < 2; i++) {
            start("visitor", VAULT::open);
            start("passenger", Locked::passGate);
        }
        start("worker", () -> work(new LinkedBlockingQueue<>()));
        await("visitor", Thread.State.BLOCKED);
        await("passenger", Thread.State.WAITING);
        System.out.println("ready");
        while (System.in.read() >= 0) {
            Thread.yield();
        }
    }
}
