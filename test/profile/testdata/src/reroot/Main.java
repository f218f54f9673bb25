package reroot;

import ledger.Fixture;
import ledger.Ledger;

/** A root that is entered again below itself, directly and by way of another method. */
public final class Main extends Fixture {
    @Override
    public long round() {
        return root(6);
    }

    static long root(int depth) {
        Ledger.Call call = Ledger.root("reroot/Main.root(I)J");
        if (depth == 0) {
            return Ledger.out(call, leaf(1));
        }
        return Ledger.out(call, leaf(depth) + (depth % 2 == 0 ? root(depth - 1) : between(depth - 1)));
    }

    private static long between(int depth) {
        Ledger.Call call = Ledger.in("reroot/Main.between(I)J");
        return Ledger.out(call, root(depth) + 1);
    }

    private static long leaf(int x) {
        Ledger.count("reroot/Main.leaf(I)J");
        return x * 7L;
    }
}
