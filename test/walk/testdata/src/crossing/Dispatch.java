package crossing;

import harness.Way;

final class Dispatch {
    private static final int STEPS = 4_000;

    private Dispatch() {
    }

    static long each(int records, boolean incoming) {
        long sum = 0;
        for (int i = 0; i < records; i++) {
            sum += incoming ? decode(i) : encode(i);
        }
        return sum;
    }

    private static long decode(int record) {
        Way.here();
        long x = record | 1;
        for (int left = STEPS; left > 0; left -= 1 + (int) (x & 1)) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        return x;
    }

    private static long encode(int record) {
        Way.here();
        long x = record + 0x9E3779B97F4A7C15L;
        for (int left = STEPS; left > 0; left -= 1 + (int) (x & 1)) {
            x ^= x >>> 12;
            x ^= x << 25;
            x ^= x >>> 27;
        }
        return x;
    }
}
