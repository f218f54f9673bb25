package truth;

import java.util.Arrays;

/** Work of a known length. No method of it ever gets a hook: what it needs is the same with hooks and without. */
public final class Work {
    private static final int WARM = 20_000;
    private static final int BATCHES = 201;
    private static final int LONG = 1 << 10;
    private static final double NANOS_A_STEP = measure();

    /** More than any cache holds. */
    private static final long[] FAR = new long[1 << 23];

    private Work() {
    }

    /** How many steps take about so long. */
    public static int steps(int nanos) {
        return Math.max((int) Math.round(nanos / NANOS_A_STEP), 1);
    }

    /** How many rounds of {@link #turn} take about so long. */
    public static int turns(int nanos) {
        return Math.max((int) Math.round(16 * nanos / NANOS_A_STEP), 1);
    }

    private static double measure() {
        long x = 1;
        for (int i = 0; i < WARM; i++) {
            x = spin(x, 16);
        }
        long[] nanos = new long[BATCHES];
        for (int i = 0; i < BATCHES; i++) {
            long start = System.nanoTime();
            x = spin(x, LONG);
            nanos[i] = System.nanoTime() - start;
        }
        Arrays.sort(nanos);
        return (double) nanos[BATCHES / 2] / LONG + (x == 0 ? 1 : 0);
    }

    /** A few instructions, each of which needs the one before. */
    public static long turn(long seed) {
        long x = seed;
        x ^= x << 13;
        x ^= x >>> 7;
        return x ^ x << 17;
    }

    /** Works step by step, each needing the one before. It is too long for compilers to put it into its callers. */
    public static long spin(long seed, int steps) {
        long x = seed;
        for (int i = 0; i < steps; i++) {
            x ^= x << 13; x ^= x >>> 7; x ^= x << 17;
            x ^= x << 13; x ^= x >>> 7; x ^= x << 17;
            x ^= x << 13; x ^= x >>> 7; x ^= x << 17;
            x ^= x << 13; x ^= x >>> 7; x ^= x << 17;
            x ^= x << 13; x ^= x >>> 7; x ^= x << 17;
            x ^= x << 13; x ^= x >>> 7; x ^= x << 17;
            x ^= x << 13; x ^= x >>> 7; x ^= x << 17;
            x ^= x << 13; x ^= x >>> 7; x ^= x << 17;
            x ^= x << 13; x ^= x >>> 7; x ^= x << 17;
            x ^= x << 13; x ^= x >>> 7; x ^= x << 17;
            x ^= x << 13; x ^= x >>> 7; x ^= x << 17;
            x ^= x << 13; x ^= x >>> 7; x ^= x << 17;
            x ^= x << 13; x ^= x >>> 7; x ^= x << 17;
            x ^= x << 13; x ^= x >>> 7; x ^= x << 17;
            x ^= x << 13; x ^= x >>> 7; x ^= x << 17;
            x ^= x << 13; x ^= x >>> 7; x ^= x << 17;
        }
        return x;
    }

    /** Works, and then throws if asked to. It calls nothing that compilers could remove. */
    public static long spinThenFail(long seed, int steps, boolean fails) {
        long x = spin(seed, steps);
        if (fails) {
            throw new IllegalStateException("asked to");
        }
        return x;
    }

    /** Reads memory in places that do not depend on each other, so that many reads are under way at once. */
    public static long far(long seed) {
        long sum = 0;
        long at = seed * 0x9E3779B97F4A7C15L;
        for (int i = 0; i < 8; i++) {
            at = at * 6364136223846793005L + 1442695040888963407L;
            sum += FAR[(int) (at >>> 41)];
        }
        return sum + seed;
    }

    /** Ten for a tenth of all numbers, scattered among them, one for the others. */
    public static int tenth(int i) {
        return scatter(i) % 10 == 0 ? 10 : 1;
    }

    /** Twice as large half as often, up to 64. */
    public static int tail(int i) {
        return 1 << Math.min(Integer.numberOfTrailingZeros(scatter(i)), 6);
    }

    private static int scatter(int i) {
        int h = i * 0x9E3779B9;
        h ^= h >>> 15;
        h *= 0x85EBCA6B;
        return (h ^ h >>> 13) & Integer.MAX_VALUE;
    }
}
