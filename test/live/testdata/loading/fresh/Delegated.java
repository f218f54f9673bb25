package loading.fresh;

import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** Loaded by a loader that delegates. */
public final class Delegated {
    private static final Map<?, ?> COUNTERS = (Map<?, ?>) System.getProperties().get("live.counters");
    private static final int START;

    static {
        count("loading/fresh/Delegated.<clinit>()V");
        START = 3;
    }

    public Delegated() {
        count("loading/fresh/Delegated.<init>()V");
    }

    private static void count(String what) {
        ((LongAdder) COUNTERS.get(what)).increment();
    }

    /** Steps so many times. */
    public long work(int times) {
        count("loading/fresh/Delegated.work(I)J");
        long sum = START;
        for (int i = 0; i < times; i++) {
            try {
                sum = sum * 3 + step(i);
            } catch (IllegalStateException e) {
                sum++;
            }
        }
        return sum;
    }

    private static long step(int i) {
        count("loading/fresh/Delegated.step(I)J");
        if (i % 5 == 4) {
            count("!loading/fresh/Delegated.step(I)J");
            throw new IllegalStateException("step");
        }
        return i;
    }
}
