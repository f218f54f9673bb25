package late;

import ledger.Ledger;

/** What classes that load later override. */
public class Base {
    /** Is overridden by classes that are not loaded yet. */
    public long value(long x) {
        Ledger.count("late/Base.value(J)J");
        return x + 1;
    }

    /** Is not overridden, and calls what is. */
    public long twice(long x) {
        Ledger.Call call = Ledger.in("late/Base.twice(J)J");
        return Ledger.out(call, value(value(x)));
    }
}
