package constructors;

import ledger.Fixture;
import ledger.Ledger;

/** Constructors: chains of super and this, initialisers, exceptions behind super and through it. */
public final class Main extends Fixture {
    @Override
    public long round() {
        return root();
    }

    static long root() {
        Ledger.Call call = Ledger.root("constructors/Main.root()J");
        long sum = new Chain().value + new Chain(5).value;
        sum += new Chain.Behind(2).own + new Chain.Last(1).value;
        sum += new Chain(1).new Inner(4).both;
        return Ledger.out(call, sum + failing(-9) + failing(7));
    }

    private static long failing(long value) {
        Ledger.Call call = Ledger.in("constructors/Main.failing(J)J");
        long sum = 0;
        try {
            sum += new Chain(value).value;
        } catch (IllegalArgumentException e) {
            sum += 100;
        }
        try {
            sum += new Chain.Last(value).value;
        } catch (IllegalArgumentException e) {
            sum += 1000;
        }
        try {
            sum += new Chain.Behind(Math.abs(value)).own;
        } catch (IllegalStateException e) {
            sum += 10_000;
        }
        return Ledger.out(call, sum);
    }
}
