package moving;

import harness.Harness;
import harness.Way;

/** A hot spot that moves among three methods, as it is told; each has a caller of its own. */
public final class Main implements Harness.Fixture {
    private static final int STEPS = 4_000;
    private static final int CALLS = 100;
    private static final Way[] WAYS = {Way.toOwn(), Way.toOwn(), Way.toOwn()};

    private volatile int where;
    private volatile boolean moved;

    @Override
    public void move(int to) {
        where = to;
        moved = true;
    }

    @Override
    public long turn() {
        if (moved) {
            return go(where);
        }
        long sum = 0;
        for (int i = 0; i < WAYS.length; i++) { // until it is told, it is everywhere
            sum += go(i);
        }
        return sum;
    }

    private static long go(int where) {
        long began = WAYS[where].begin();
        long sum = where == 0 ? morning() : where == 1 ? noon() : night();
        WAYS[where].end(began);
        return sum;
    }

    private static long morning() {
        long sum = 0;
        for (int i = 0; i < CALLS; i++) {
            sum += load(i);
        }
        return sum;
    }

    private static long noon() {
        long sum = 0;
        for (int i = 0; i < CALLS; i++) {
            sum += sell(i);
        }
        return sum;
    }

    private static long night() {
        long sum = 0;
        for (int i = 0; i < CALLS; i++) {
            sum += close(i);
        }
        return sum;
    }

    private static long load(int item) {
        Way.here();
        long x = item | 1;
        for (int left = STEPS; left > 0; left -= 1 + (int) (x & 1)) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        return x;
    }

    private static long sell(int item) {
        Way.here();
        long x = item | 3;
        for (int left = STEPS; left > 0; left -= 1 + (int) (x & 1)) {
            x ^= x << 25;
            x ^= x >>> 27;
            x ^= x << 12;
        }
        return x;
    }

    private static long close(int item) {
        Way.here();
        long x = item | 5;
        for (int left = STEPS; left > 0; left -= 1 + (int) (x & 1)) {
            x ^= x << 21;
            x ^= x >>> 35;
            x ^= x << 4;
        }
        return x;
    }
}
