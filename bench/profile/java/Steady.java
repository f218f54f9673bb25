import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Runs one of the real programs in rounds until its input ends, and reports its progress every 200 ms:
 * "at NANOS DONE CPU ROUNDS", nanoseconds of the monotonic clock, operations so far, nanoseconds of processor
 * time of the thread that works, rounds. It also reports after each long round.
 */
public final class Steady {
    private static final int EVERY = 200;
    private static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();

    private static AtomicLong[] counters;
    private static Thread worker;
    private static volatile long rounds;

    private Steady() {
    }

    /** Arguments: the class of the program, then the operations that count, as RealProgram.counter names them. */
    public static void main(String[] args) throws Exception {
        RealProgram.Work work = Class.forName(args[0]).asSubclass(RealProgram.Work.class).getDeclaredConstructor().newInstance();
        counters = new AtomicLong[args.length - 1];
        for (int i = 0; i < counters.length; i++) {
            counters[i] = RealProgram.counter(args[i + 1]);
        }
        worker = new Thread(() -> work(work), "worker");
        worker.setDaemon(true);
        worker.start();
        Thread ticker = new Thread(Steady::tick, "ticker");
        ticker.setDaemon(true);
        ticker.start();
        while (System.in.read() >= 0) {
            continue; // only the end of the input means something
        }
        Runtime.getRuntime().halt(0); // the program is under way, and nobody wants to hear how it takes it
    }

    private static void work(RealProgram.Work work) {
        try {
            while (true) {
                long began = System.nanoTime();
                work.round();
                rounds++;
                if (System.nanoTime() - began > EVERY * 1_000_000L / 2) {
                    report();
                }
            }
        } catch (Throwable e) {
            e.printStackTrace();
            System.exit(1);
        }
    }

    private static void tick() {
        try {
            while (true) {
                report();
                Thread.sleep(EVERY);
            }
        } catch (InterruptedException e) {
            System.exit(1);
        }
    }

    private static synchronized void report() {
        long done = 0;
        for (AtomicLong counter : counters) {
            done += counter.get();
        }
        PrintStream out = System.out;
        out.println("at " + System.nanoTime() + " " + done + " " + CLOCK.getThreadCpuTime(worker.getId()) + " " + rounds);
        out.flush();
    }
}
