package deep;

import harness.Harness;
import harness.Way;

/** A hot leaf under more frames than the flight recorder keeps of a stack: their beginning is on no sample. */
public final class Main implements Harness.Fixture {
    private static final Way NIGHTLY = Way.toOwn();
    private static final Way HOURLY = Way.toOwn();

    @Override
    public long turn() {
        long began = NIGHTLY.begin();
        long sum = Jobs.nightly();
        NIGHTLY.end(began);
        began = HOURLY.begin();
        sum += Jobs.hourly();
        HOURLY.end(began);
        return sum;
    }
}
