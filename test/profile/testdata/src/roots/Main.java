package roots;

import ledger.Fixture;
import ledger.Ledger;

/** Two roots with callees in common, of which the first also calls the second. */
public final class Main extends Fixture {
    @Override
    public long round() {
        return firstRoot(2) + secondRoot(3) + both(4) + secondRoot(5);
    }

    static long firstRoot(int x) {
        Ledger.Call call = Ledger.root("roots/Main.firstRoot(I)J");
        return Ledger.out(call, both(x) + secondRoot(x) + onlyFirst(x));
    }

    static long secondRoot(int x) {
        Ledger.Call call = Ledger.root("roots/Main.secondRoot(I)J");
        return Ledger.out(call, both(x) * 2);
    }

    private static long both(int x) {
        Ledger.count("roots/Main.both(I)J");
        return x + 1;
    }

    private static long onlyFirst(int x) {
        Ledger.count("roots/Main.onlyFirst(I)J");
        return x + 2;
    }
}
