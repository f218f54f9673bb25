package paths;

import harness.Way;

final class Ledger {
    private static final int STEPS = 4_000;

    private Ledger() {
    }

    /** Hot too, by one way. */
    static long check(int entry) {
        Way.here();
        long x = entry + 0x9E3779B97F4A7C15L;
        for (int left = STEPS; left > 0; left -= 1 + (int) (x & 1)) {
            x ^= x >>> 12;
            x ^= x << 25;
            x ^= x >>> 27;
        }
        return x;
    }
}
