package busy;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Handles orders until its input ends. Each order calls tiny methods for each of its lines, some hundred thousand times a second
 * each; one order in twenty is large. Asked "now" it answers "now LINES CPU": lines so far, and nanoseconds of processor time of the
 * thread that works.
 */
public final class Busy {
    private static final int STEPS = 1500;
    private static final int LINES = 200;
    private static final int LARGE = 10;
    private static final int EVERY = 20;
    private static volatile long done;
    private static volatile long sink;

    private Busy() {
    }

    static final class Line {
        private final int number;

        Line(int number) {
            this.number = number;
        }

        long price() {
            return Prices.of(number) + tax();
        }

        long tax() {
            return Prices.round(number * 19L);
        }
    }

    static final class Prices {
        static long of(int number) {
            long price = number + 1;
            for (int i = 0; i < STEPS; i++) { // compilers cannot shorten it
                price ^= price << 13;
                price ^= price >>> 7;
                price ^= price << 17;
            }
            return round(price);
        }

        static long round(long price) {
            return price - price % 5;
        }
    }

    static final class Orders {
        long handle(int number) {
            return number % EVERY == 0 ? large(number) : sum(number, LINES);
        }

        long large(int number) {
            return sum(number, LARGE * LINES);
        }

        long sum(int number, int lines) {
            long total = 0;
            for (int i = 0; i < lines; i++) {
                total += new Line(number + i).price();
            }
            done += lines;
            return total;
        }
    }

    public static void main(String[] args) throws Exception {
        Orders orders = new Orders();
        Thread worker = new Thread(() -> {
            for (int i = 0; ; i++) {
                sink += orders.handle(i);
            }
        }, "worker");
        worker.setDaemon(true);
        worker.start();
        ThreadMXBean clock = ManagementFactory.getThreadMXBean();
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        while (in.readLine() != null) {
            System.out.println("now " + done + " " + clock.getThreadCpuTime(worker.getId()));
        }
    }
}
