package late;

import ledger.Ledger;

/** Is loaded by a plain new, inside the root. */
final class ByNew extends Base implements Main.Step {
    @Override
    public long value(long x) {
        Ledger.Call call = Ledger.in("late/ByNew.value(J)J");
        return Ledger.out(call, deeper(x) + super.value(x));
    }

    private long deeper(long x) {
        Ledger.count("late/ByNew.deeper(J)J");
        return x * 3;
    }

    @Override
    public long step(long x) {
        Ledger.Call call = Ledger.in("late/ByNew.step(J)J");
        return Ledger.out(call, deeper(x));
    }
}
