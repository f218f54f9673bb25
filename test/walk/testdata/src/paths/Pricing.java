package paths;

import harness.Way;

final class Pricing {
    private static final int STEPS = 4_000;

    private Pricing() {
    }

    /** The hot leaf. */
    static long tax(int amount) {
        Way.here();
        long x = amount | 1;
        for (int left = STEPS; left > 0; left -= 1 + (int) (x & 1)) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        return x;
    }
}
