package recursion;

import harness.Way;

final class Task {
    private static final int STEPS = 6_000;

    private Task() {
    }

    /** Calls itself, and the leaf once. */
    static long cost(int depth, int seed) {
        if (depth == 0) {
            return seed;
        }
        return estimate(seed) + cost(depth - 1, seed + 1) + cost(depth - 1, seed + 2);
    }

    private static long estimate(int seed) {
        Way.here();
        long x = seed | 1;
        for (int left = STEPS; left > 0; left -= 1 + (int) (x & 1)) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        return x;
    }
}
