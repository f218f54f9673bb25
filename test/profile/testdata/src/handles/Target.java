package handles;

import ledger.Ledger;

/** Is reached by method handles only. */
class Target {
    private final long state;

    Target(long state) {
        Ledger.count("handles/Target.<init>(J)V");
        this.state = state;
    }

    long virtual(long x) {
        Ledger.Call call = Ledger.in("handles/Target.virtual(J)J");
        return Ledger.out(call, below(x));
    }

    private long below(long x) {
        Ledger.count("handles/Target.below(J)J");
        return x + state;
    }

    static long fixed(long x, double y) {
        Ledger.count("handles/Target.fixed(JD)J");
        return x + (long) y;
    }

    static long throwing(long x) {
        throw Ledger.threw("handles/Target.throwing(J)J", new IllegalArgumentException("handle"));
    }

    static long catching(IllegalArgumentException e, long x) {
        Ledger.count("handles/Target.catching(Ljava/lang/IllegalArgumentException;J)J");
        return x + e.getMessage().length();
    }

    /** A handle of the method above leads here. */
    static final class Derived extends Target {
        Derived() {
            super(2);
        }

        @Override
        long virtual(long x) {
            Ledger.count("handles/Target$Derived.virtual(J)J");
            return x * 2;
        }
    }
}
