package overflow;

import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * Has stacks overflow in and around its methods, each time from another depth, on threads that end by it. It
 * obeys "overflow N" and answers how often the stack was full, and a sum over what is computed right after.
 */
public final class Overflow {
    private static int full;
    private static long sum;

    private Overflow() {
    }

    static int endless(int n) {
        return leaf(n) + endless(n + 1) + 1;
    }

    static int leaf(int n) {
        return n * 3;
    }

    /** Has the stack's end be met by every frame that can meet it. */
    static int shifted(int by, long a, long b, long c) {
        return by == 0 ? endless(0) : shifted(by - 1, c, a, b) + (int) (a ^ b ^ c);
    }

    /** Returns normally at the very end of the stack: what follows the body may find no room. */
    static int toTheEnd(int n) {
        try {
            return toTheEnd(n + 1) + 1;
        } catch (StackOverflowError e) {
            return leaf(n) - leaf(n);
        }
    }

    private static void once(int i) {
        try {
            shifted(i % 61, i, 2, 3);
        } catch (StackOverflowError e) {
            full++;
        }
        try {
            toTheEnd(0);
        } catch (StackOverflowError e) {
            full++; // in the handler
        }
        for (int k = 0; k < 10; k++) {
            sum += leaf(k);
        }
    }

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            int count = Integer.parseInt(line.split(" ")[1]);
            full = 0;
            sum = 0;
            for (int i = 0; i < count; i++) {
                int n = i;
                Thread thread = new Thread(null, () -> once(n), "full", 192L << 10);
                thread.start();
                thread.join();
            }
            System.out.println("overflowed " + (full >= count) + " " + sum);
        }
    }
}
