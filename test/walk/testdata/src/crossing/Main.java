package crossing;

import harness.Harness;
import harness.Way;

/**
 * Two hot leaves with a caller in common, which is called by three methods: two lead it to the first leaf alone, the
 * third to the second. Who looks only at pairs of caller and callee takes one's time for the other's.
 */
public final class Main implements Harness.Fixture {
    private static final Way IMPORT = Way.toOwn();
    private static final Way EXPORT = Way.toOwn();
    private static final Way REPAIR = Way.toOwn();

    @Override
    public long turn() {
        long began = IMPORT.begin();
        long sum = read(40);
        IMPORT.end(began);
        began = EXPORT.begin();
        sum += write(50);
        EXPORT.end(began);
        began = REPAIR.begin();
        sum += repair(10);
        REPAIR.end(began);
        return sum;
    }

    private static long read(int records) {
        return Dispatch.each(records, true);
    }

    private static long write(int records) {
        return Dispatch.each(records, false);
    }

    private static long repair(int records) {
        return Dispatch.each(records, true);
    }
}
