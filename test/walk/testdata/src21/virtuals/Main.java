package virtuals;

import harness.Harness;
import harness.Way;

/** A hot leaf on virtual threads, by two ways. */
public final class Main implements Harness.Fixture {
    private static final int STEPS = 4_000;
    private static final Way ASK = Way.toOwn();
    private static final Way ANSWER = Way.toOwn();

    @Override
    public Thread thread(Runnable work) {
        return Thread.ofVirtual().name("worker").unstarted(work);
    }

    @Override
    public long turn() {
        long began = ASK.begin();
        long sum = ask();
        ASK.end(began);
        began = ANSWER.begin();
        sum += answer();
        ANSWER.end(began);
        Thread.yield(); // so that they change their carriers
        return sum;
    }

    private static long ask() {
        return parse(70);
    }

    private static long answer() {
        return parse(30);
    }

    private static long parse(int words) {
        long sum = 0;
        for (int i = 0; i < words; i++) {
            sum += scan(i);
        }
        return sum;
    }

    private static long scan(int word) {
        Way.here();
        long x = word | 1;
        for (int left = STEPS; left > 0; left -= 1 + (int) (x & 1)) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        return x;
    }
}
