import java.lang.management.ManagementFactory;
import java.util.concurrent.locks.LockSupport;

/** A thread allocates, and waits then. The program says how many bytes the JVM counts for it. */
public final class Allocates {
    private static volatile Object kept;

    private Allocates() {
    }

    private static void run() {
        for (int i = 0; i < 10_000; i++) {
            kept = new byte[1000 + i];
        }
        while (kept != null) {
            LockSupport.park();
        }
    }

    public static void main(String[] args) throws Exception {
        Thread allocator = new Thread(Allocates::run, "allocator");
        allocator.setDaemon(true);
        allocator.start();
        while (allocator.getState() != Thread.State.WAITING) {
            Thread.yield();
        }
        com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        System.out.println("allocated " + threads.getThreadAllocatedBytes(allocator.getId()));
        System.out.println("ready");
        while (System.in.read() >= 0) {
            Thread.yield();
        }
    }
}
