package late;

import ledger.Fixture;
import ledger.Ledger;

/** Overriding classes whose first load happens inside the root, when calls of what they override have been seen. */
public final class Main extends Fixture {
    /** Has no implementation when the root begins. */
    interface Step {
        long step(long x);
    }

    private final Base loadedBefore = new Base();

    @Override
    public long round() throws Exception {
        return root(loadedBefore);
    }

    static long root(Base known) throws Exception {
        Ledger.Call call = Ledger.root("late/Main.root(Llate/Base;)J");
        long sum = use(known);
        sum += use(byNew());
        sum += use(byName());
        return Ledger.out(call, sum);
    }

    private static long use(Base base) {
        Ledger.Call call = Ledger.in("late/Main.use(Llate/Base;)J");
        long sum = 0;
        for (int i = 0; i < 5; i++) {
            sum += base.value(i) + base.twice(i);
        }
        if (base instanceof Step) {
            sum += ((Step) base).step(sum);
        }
        return Ledger.out(call, sum);
    }

    private static Base byNew() {
        Ledger.count("late/Main.byNew()Llate/Base;");
        return new ByNew();
    }

    private static Base byName() throws Exception {
        Ledger.Call call = Ledger.in("late/Main.byName()Llate/Base;");
        Base made = (Base) Class.forName("late.ByName").getDeclaredConstructor().newInstance();
        Ledger.out(call);
        return made;
    }
}
