import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/**
 * Calls one method of a program, its root, again and again, and times each call with a clock of its own. Asked "now" it
 * answers "now CALLS CPU NANOS": the calls of the root that have ended, the processor time of all Java threads, and the time
 * that the calls took in all.
 */
public final class Clocked {
    /** A program. One call of it makes at least one call of the root, whose time it adds. */
    interface Program {
        void call() throws Exception;
    }

    private static final LongAdder CALLS = new LongAdder();
    private static final LongAdder NANOS = new LongAdder();
    private static volatile boolean failed;

    private Clocked() {
    }

    /** Adds a call of the root that began at this time of the clock. */
    static void add(long began) {
        NANOS.add(System.nanoTime() - began);
        CALLS.increment();
    }

    public static void main(String[] args) throws Exception {
        Program program = Class.forName(args[0]).asSubclass(Program.class).getDeclaredConstructor().newInstance();
        Thread worker = new Thread(() -> work(program), "worker");
        worker.setDaemon(true);
        worker.start();
        ThreadMXBean clock = ManagementFactory.getThreadMXBean();
        Map<Long, Long> used = new HashMap<>(); // by threads, also by those that have ended
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        while (in.readLine() != null && !failed) {
            for (long id : clock.getAllThreadIds()) {
                used.merge(id, Math.max(0, clock.getThreadCpuTime(id)), Math::max);
            }
            long cpu = used.values().stream().mapToLong(Long::longValue).sum();
            System.out.println("now " + CALLS.sum() + " " + cpu + " " + NANOS.sum());
        }
        Runtime.getRuntime().halt(0); // the program is under way, and nobody wants to hear how it takes it
    }

    private static void work(Program program) {
        try {
            while (true) {
                program.call();
            }
        } catch (Throwable e) {
            e.printStackTrace();
            failed = true;
        }
    }
}
