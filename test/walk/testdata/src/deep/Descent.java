package deep;

import harness.Way;

final class Descent {
    private static final int STEPS = 4_000;

    private Descent() {
    }

    static long descend(int depth, int leaves) {
        if (depth > 0) {
            return descend(depth - 1, leaves) + 1;
        }
        long sum = 0;
        for (int i = 0; i < leaves; i++) {
            sum += weigh(i);
        }
        return sum;
    }

    private static long weigh(int leaf) {
        Way.here();
        long x = leaf | 1;
        for (int left = STEPS; left > 0; left -= 1 + (int) (x & 1)) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        return x;
    }
}
