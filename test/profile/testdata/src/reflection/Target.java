package reflection;

import ledger.Ledger;

/** Is reached by core reflection only. */
public class Target {
    private final long state;

    Target(long state) {
        Ledger.Call call = Ledger.in("reflection/Target.<init>(J)V");
        this.state = Ledger.out(call, below(state));
    }

    private static long below(long x) {
        Ledger.count("reflection/Target.below(J)J");
        return x + 1;
    }

    long virtual(int a, String b) {
        Ledger.Call call = Ledger.in("reflection/Target.virtual(ILjava/lang/String;)J");
        return Ledger.out(call, below(state + a + b.length()));
    }

    static long fixed(long x) {
        Ledger.Call call = Ledger.in("reflection/Target.fixed(J)J");
        return Ledger.out(call, below(x));
    }

    static void throwing() {
        throw Ledger.threw("reflection/Target.throwing()V", new IllegalStateException("reflected"));
    }

    /** A Method of the class above leads here. */
    static final class Derived extends Target {
        Derived() {
            super(5);
        }

        @Override
        long virtual(int a, String b) {
            Ledger.count("reflection/Target$Derived.virtual(ILjava/lang/String;)J");
            return a;
        }
    }
}
