import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Runs one of the real programs in rounds until its input ends. Asked "now" it answers "now DONE CPU": operations so
 * far, and nanoseconds of processor time of the thread that works.
 */
public final class Paced {
    private static volatile boolean failed;

    private Paced() {
    }

    /** Arguments: the class of the program, then the operations that count, as RealProgram.counter names them. */
    public static void main(String[] args) throws Exception {
        RealProgram.Work work = Class.forName(args[0]).asSubclass(RealProgram.Work.class).getDeclaredConstructor().newInstance();
        AtomicLong[] counters = new AtomicLong[args.length - 1];
        for (int i = 0; i < counters.length; i++) {
            counters[i] = RealProgram.counter(args[i + 1]);
        }
        Thread worker = new Thread(() -> work(work), "worker");
        worker.setDaemon(true);
        worker.start();
        ThreadMXBean clock = ManagementFactory.getThreadMXBean();
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        while (in.readLine() != null && !failed) {
            long done = 0;
            for (AtomicLong counter : counters) {
                done += counter.get();
            }
            System.out.println("now " + done + " " + clock.getThreadCpuTime(worker.getId()));
        }
        Runtime.getRuntime().halt(0); // the program is under way, and nobody wants to hear how it takes it
    }

    private static void work(RealProgram.Work work) {
        try {
            while (true) {
                work.round();
            }
        } catch (Throwable e) {
            e.printStackTrace();
            failed = true;
        }
    }
}
