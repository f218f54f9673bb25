package initialisers;

import ledger.Fixture;
import ledger.Ledger;

/** Static initialisers that first run inside the root, and then never again. */
public final class Main extends Fixture {
    /** Is called by reflection, once. */
    public Main() throws ClassNotFoundException {
        Class.forName("initialisers.Holders$LoadedBefore", false, Main.class.getClassLoader());
    }

    @Override
    public long round() throws Exception {
        return root();
    }

    static long root() throws Exception {
        Ledger.Call call = Ledger.root("initialisers/Main.root()J");
        long sum = Holders.Called.get() + Holders.Read.value + Holders.LoadedBefore.get();
        sum += new Holders.Made().getClass().getName().length();
        sum += Class.forName("initialisers.Holders$Named").getName().length();
        return Ledger.out(call, sum + failing());
    }

    private static long failing() {
        Ledger.Call call = Ledger.in("initialisers/Main.failing()J");
        long sum = 0;
        try {
            sum += Holders.Failing.get();
        } catch (LinkageError e) {
            sum += 10;
        }
        return Ledger.out(call, sum);
    }
}
