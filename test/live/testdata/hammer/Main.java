package hammer;

import harness.Tally;
import harness.Workload;
import java.io.PrintStream;
import java.util.concurrent.atomic.LongAdder;

/**
 * Tiny methods, called as fast as they can be. They are so small that counting in them would be
 * most of their work: each block of operations adds its calls, known in advance, at its end.
 */
public final class Main implements Workload {
    static final int BLOCK = 10_000;
    static final int RARE = 64;
    static final int THROWN = (BLOCK + RARE - 1) / RARE;
    static final int STATIC = Tally.exact(Main.class, "tinyStatic", 2L * BLOCK, 0);
    static final int VIRTUAL = Tally.exact(Main.class, "tinyVirtual", BLOCK, 0);
    static final int NESTED = Tally.exact(Main.class, "callsTwoTiny", BLOCK, 0);
    static final int RECURSIVE = Tally.exact(Main.class, "recursesThrice", 4L * BLOCK, 0);
    static final int SYNCHRONIZED = Tally.exact(Pair.class, "tinySynchronized", BLOCK, 0);
    static final int THROWS = Tally.exact(Main.class, "throwsRarely", BLOCK, THROWN);
    static final int MAKES = Tally.exact(Pair.class, "<init>", BLOCK, 0);
    private static final LongAdder OPERATIONS = new LongAdder();
    private static final IllegalStateException THROWN_AGAIN = new IllegalStateException("one for all");

    /** So small that the compiler does without the object. */
    static final class Pair {
        final long a;
        final long b;

        Pair(long a, long b) {
            this.a = a;
            this.b = b;
        }

        synchronized long tinySynchronized() {
            return a ^ b;
        }
    }

    static long tinyStatic(long x) {
        return x * 31 + 7;
    }

    long tinyVirtual(long x) {
        return x ^ 0x5555;
    }

    static long callsTwoTiny(long x) {
        return tinyStatic(x) + tinyStatic(x + 1);
    }

    static long recursesThrice(int n, long x) {
        return n == 0 ? x : recursesThrice(n - 1, x + n);
    }

    static long throwsRarely(int i, long x) {
        if (i % RARE == 0) {
            throw THROWN_AGAIN;
        }
        return x + 1;
    }

    @Override
    public long round() {
        long x = 1;
        for (int i = 0; i < BLOCK; i++) {
            x = callsTwoTiny(x);
            x = tinyVirtual(x);
            x = recursesThrice(3, x);
            x += new Pair(x, i).tinySynchronized();
            try {
                x = throwsRarely(i, x);
            } catch (IllegalStateException e) {
                x += 2;
            }
        }
        Tally.add(STATIC, 2L * BLOCK, 0);
        Tally.add(VIRTUAL, BLOCK, 0);
        Tally.add(NESTED, BLOCK, 0);
        Tally.add(RECURSIVE, 4L * BLOCK, 0);
        Tally.add(SYNCHRONIZED, BLOCK, 0);
        Tally.add(THROWS, BLOCK, THROWN);
        Tally.add(MAKES, BLOCK, 0);
        OPERATIONS.add(BLOCK);
        return x;
    }

    @Override
    public boolean command(String[] words, PrintStream out) {
        if (!words[0].equals("rate")) {
            return false;
        }
        out.println("rate " + OPERATIONS.sum() + " " + System.nanoTime());
        return true;
    }
}
