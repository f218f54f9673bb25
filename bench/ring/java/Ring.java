package ring;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Calls a method as often as commands on its standard input say, and exits when that ends:
 *
 * <pre>
 * time CALLS STEPS    →  time NANOS    what CALLS calls took, with STEPS steps of work in each
 * </pre>
 *
 * Time is what the thread had of a processor, so that what else runs on the machine does not count.
 */
public final class Ring {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static long seed = 0x9E3779B97F4A7C15L;

    private Ring() {
    }

    public static void main(String[] args) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            System.out.println("time " + time(Long.parseLong(words[1]), Integer.parseInt(words[2])));
        }
        if (seed == 0) {
            throw new AssertionError("the method does no work");
        }
    }

    private static long time(long calls, int steps) {
        long start = THREADS.getCurrentThreadCpuTime();
        for (long i = 0; i < calls; i++) {
            seed = Work.work(seed, steps);
        }
        return THREADS.getCurrentThreadCpuTime() - start;
    }

    /** Apart from the loop, so that only the method is woven. */
    static final class Work {
        private Work() {
        }

        static long work(long x, int steps) {
            for (int i = 0; i < steps; i++) {
                x = x * 6364136223846793005L + 1442695040888963407L;
            }
            return x;
        }
    }
}
