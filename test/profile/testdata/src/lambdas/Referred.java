package lambdas;

import ledger.Ledger;

/** What method references of every kind lead to. */
class Referred {
    private final int state;

    Referred(int state) {
        Ledger.count("lambdas/Referred.<init>(I)V");
        this.state = state;
    }

    static int byStatic(int x) {
        Ledger.Call call = Ledger.in("lambdas/Referred.byStatic(I)I");
        return (int) Ledger.out(call, below(x));
    }

    private static int below(int x) {
        Ledger.count("lambdas/Referred.below(I)I");
        return x + 1;
    }

    int bound(int x) {
        Ledger.count("lambdas/Referred.bound(I)I");
        return x + state;
    }

    int unbound() {
        Ledger.count("lambdas/Referred.unbound()I");
        return state;
    }

    int overridden() {
        Ledger.count("lambdas/Referred.overridden()I");
        return state;
    }

    /** A reference to the overridden method leads here. */
    static final class Derived extends Referred {
        Derived() {
            super(11);
        }

        @Override
        int overridden() {
            Ledger.count("lambdas/Referred$Derived.overridden()I");
            return 12;
        }
    }
}
