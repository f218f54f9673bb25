package recursion;

import harness.Way;

final class Tree {
    private static final int STEPS = 6_000;

    private Tree() {
    }

    /** Hot itself, at every depth. */
    static long visit(int depth, int seed) {
        if (depth == 0) {
            return seed;
        }
        Way.here();
        long x = seed + 0x9E3779B97F4A7C15L;
        for (int left = STEPS; left > 0; left -= 1 + (int) (x & 1)) {
            x ^= x >>> 12;
            x ^= x << 25;
            x ^= x >>> 27;
        }
        return x + visit(depth - 1, seed + 1) + visit(depth - 1, seed + 2);
    }
}
