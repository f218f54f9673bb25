import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * A thread with a deep stack that does nothing but read the clock, and sums up the gaps between two readings: an
 * interrupt of a sample is such a gap. Longer ones, in which another thread had the processor, count apart.
 *
 * It answers the command gaps by the nanoseconds since its start, those in gaps, and those in longer ones.
 */
public class Gaps {
    static final long SHORTEST = 2_000, LONGEST = 200_000;
    static volatile long brief, away;

    /** More frames than the kernel copies with a sample. */
    static long deep(int n, long a, long b, long c) { return n == 0 ? read() : deep(n - 1, b, c, a + n) + a * b + c; }

    static long read() {
        long last = System.nanoTime();
        while (true) {
            long now = System.nanoTime(), gap = now - last;
            if (gap > LONGEST) {
                away += gap;
            } else if (gap > SHORTEST) {
                brief += gap;
            }
            last = now;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Thread reader = new Thread(null, () -> deep(2000, 1, 2, 3), "reader", 16 << 20);
        reader.setDaemon(true);
        reader.start();
        long start = System.nanoTime();
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        while (in.readLine() != null) {
            System.out.println("gaps " + (System.nanoTime() - start) + " " + brief + " " + away);
        }
    }
}
