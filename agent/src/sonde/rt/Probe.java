package sonde.rt;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Counts how often woven methods were entered and left, over all threads.
 *
 * <p>Counts are exact: a method entered is left once, however it ends, but for a constructor whose super(...)
 * throws. Threads are spread over stripes by identity, without thread-locals, so that they rarely share a
 * cache line. Nothing here allocates, locks or calls code of the program.
 */
public final class Probe {
    /** A power of two. Each stripe fills two cache lines, because processors fetch lines in pairs. */
    private static final int STRIPES = 16;

    private static final int LONGS_PER_STRIPE = 16;

    /** A stripe holds its count of entries, then its count of exits. */
    private static final AtomicLongArray COUNTS = new AtomicLongArray(STRIPES * LONGS_PER_STRIPE);

    private Probe() {
    }

    /**
     * Counts an entry.
     *
     * @param method the id of the method entered
     * @return the token for {@link #exit}: the stripe in the upper half, the method in the lower
     */
    public static long enter(int method) {
        // The identity hash, because Thread.getId may be overridden by the program.
        int stripe = System.identityHashCode(Thread.currentThread()) & (STRIPES - 1);
        COUNTS.getAndIncrement(stripe * LONGS_PER_STRIPE);
        return (long) stripe << 32 | method & 0xffffffffL;
    }

    /** Counts the exit of the activation whose entry returned {@code token}. */
    public static void exit(long token) {
        int stripe = (int) (token >>> 32) & (STRIPES - 1);
        COUNTS.getAndIncrement(stripe * LONGS_PER_STRIPE + 1);
    }

    /** Returns how many activations have begun; exact while no woven method runs. */
    public static long entered() {
        return sum(0);
    }

    /** Returns how many activations have ended; exact while no woven method runs. */
    public static long exited() {
        return sum(1);
    }

    private static long sum(int offset) {
        long sum = 0;
        for (int stripe = 0; stripe < STRIPES; stripe++) {
            sum += COUNTS.get(stripe * LONGS_PER_STRIPE + offset);
        }
        return sum;
    }
}
