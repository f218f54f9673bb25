package kinds;

import ledger.Ledger;

/** Calls by invokestatic, invokespecial and invokevirtual. */
class Plain {
    static long byStatic(long a, int b) {
        Ledger.count("kinds/Plain.byStatic(JI)J");
        return a + b;
    }

    static long summed(int... values) {
        Ledger.Call call = Ledger.in("kinds/Plain.summed([I)J");
        long sum = 0;
        for (int value : values) {
            sum = byStatic(sum, value);
        }
        return Ledger.out(call, sum);
    }

    private long ofOwn(double x) {
        Ledger.count("kinds/Plain.ofOwn(D)J");
        return (long) x;
    }

    long overridden(long x) {
        Ledger.Call call = Ledger.in("kinds/Plain.overridden(J)J");
        return Ledger.out(call, x + ofOwn(1.5));
    }

    long inherited(long x) {
        Ledger.Call call = Ledger.in("kinds/Plain.inherited(J)J");
        return Ledger.out(call, overridden(x) + 1);
    }

    final synchronized long guarded(long x) {
        Ledger.Call call = Ledger.in("kinds/Plain.guarded(J)J");
        return Ledger.out(call, guardedToo(x) + 1);
    }

    static synchronized long guardedToo(long x) {
        Ledger.count("kinds/Plain.guardedToo(J)J");
        return x ^ 5;
    }

    /** Overrides, and calls what it overrides. */
    static class Derived extends Plain {
        @Override
        long overridden(long x) {
            Ledger.Call call = Ledger.in("kinds/Plain$Derived.overridden(J)J");
            return Ledger.out(call, super.overridden(x) * 2);
        }
    }

    /** Overrides what is overridden already, and does not call it. */
    static final class Last extends Derived {
        @Override
        long overridden(long x) {
            Ledger.count("kinds/Plain$Last.overridden(J)J");
            return x - 1;
        }
    }
}
