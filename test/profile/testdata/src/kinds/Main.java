package kinds;

import ledger.Fixture;
import ledger.Ledger;

/** Calls of every plain kind: static, special, virtual, through interfaces and bridges, synchronized. */
public final class Main extends Fixture {
    @Override
    public long round() throws Exception {
        return root(3);
    }

    static long root(int times) throws Exception {
        Ledger.Call call = Ledger.root("kinds/Main.root(I)J");
        Plain[] all = {new Plain(), new Plain.Derived(), new Plain.Last()};
        long sum = Plain.summed(1, 2, 3, 4);
        for (int i = 0; i < times; i++) {
            for (Plain plain : all) {
                sum += plain.overridden(i) + plain.inherited(i) + plain.guarded(i);
            }
        }
        return Ledger.out(call, sum + Contracts.work());
    }
}
