package late;

import ledger.Ledger;

/** Is loaded by its name, inside the root. */
public final class ByName extends Base {
    /** Is called by reflection once. */
    public ByName() {
        Ledger.count("late/ByName.<init>()V");
    }

    @Override
    public long value(long x) {
        Ledger.Call call = Ledger.in("late/ByName.value(J)J");
        return Ledger.out(call, Helper.help(x));
    }

    /** Is loaded later still: when it is first called. */
    static final class Helper {
        private Helper() {
        }

        static long help(long x) {
            Ledger.count("late/ByName$Helper.help(J)J");
            return x ^ 7;
        }
    }
}
