package paths;

import harness.Harness;
import harness.Way;

/** A hot leaf reached by three ways, 70 to 25 to 5; two of them have its caller in common. A fifth of all is elsewhere. */
public final class Main implements Harness.Fixture {
    private static final Way ORDER = Way.toOwn();
    private static final Way REFUND = Way.toOwn();
    private static final Way REPORT = Way.toOwn();
    private static final Way AUDIT = Way.toOwn();

    @Override
    public long turn() {
        long began = ORDER.begin();
        long sum = place(70);
        ORDER.end(began);
        began = REFUND.begin();
        sum += refund(25);
        REFUND.end(began);
        began = REPORT.begin();
        sum += report(5);
        REPORT.end(began);
        began = AUDIT.begin();
        sum += audit(25);
        AUDIT.end(began);
        return sum;
    }

    private static long place(int items) {
        return Basket.total(items, 3);
    }

    private static long refund(int items) {
        return Basket.total(items, 5);
    }

    private static long report(int items) {
        long sum = 0;
        for (int i = 0; i < items; i++) {
            sum += Pricing.tax(i);
        }
        return sum;
    }

    private static long audit(int entries) {
        long sum = 0;
        for (int i = 0; i < entries; i++) {
            sum += Ledger.check(i);
        }
        return sum;
    }
}
