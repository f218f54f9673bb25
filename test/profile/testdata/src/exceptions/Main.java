package exceptions;

import java.util.ArrayList;
import java.util.List;
import ledger.Fixture;
import ledger.Ledger;
import ledger.Site;

/** Exceptions through frames with hooks and without, of every origin; the root ends by one at times. */
public final class Main extends Fixture {
    private static final Site IN_LIST = new Site();

    @Override
    public long round() {
        long sum = root(0);
        try {
            sum += root(1);
        } catch (IllegalStateException e) {
            sum += e.getMessage().length();
        }
        return sum;
    }

    static long root(int way) {
        Ledger.Call call = Ledger.root("exceptions/Main.root(I)J");
        long sum = 0;
        for (int i = 0; i < 4; i++) {
            sum += caught(i);
        }
        sum += throughList() + throughComparator() + Origins.all();
        if (way == 1) {
            throw Ledger.threw(call, new IllegalStateException("root"));
        }
        return Ledger.out(call, sum);
    }

    private static long caught(int i) {
        Ledger.Call call = Ledger.in("exceptions/Main.caught(I)J");
        try {
            return Ledger.out(call, through(i));
        } catch (IllegalArgumentException e) {
            return Ledger.out(call, 10);
        }
    }

    private static long through(int i) {
        Ledger.Call call = Ledger.in("exceptions/Main.through(I)J");
        boolean threw = true;
        try {
            long result = Ledger.out(call, deepest(i));
            threw = false;
            return result;
        } finally {
            if (threw) {
                Ledger.threw(call, null);
            }
        }
    }

    private static long deepest(int i) {
        if (i % 2 == 1) {
            throw Ledger.threw("exceptions/Main.deepest(I)J", new IllegalArgumentException("odd"));
        }
        Ledger.count("exceptions/Main.deepest(I)J");
        return i;
    }

    private static long throughList() {
        Ledger.Call call = Ledger.in("exceptions/Main.throughList()J");
        long[] seen = new long[1];
        try {
            List.of(1, 2, 3).forEach(x -> {
                if (x == 2) {
                    throw Ledger.threw(IN_LIST.name(), new IllegalStateException("list"));
                }
                Ledger.count(IN_LIST.name());
                seen[0]++;
            });
        } catch (IllegalStateException e) {
            seen[0] += 100;
        }
        return Ledger.out(call, seen[0]);
    }

    private static long throughComparator() {
        Ledger.Call call = Ledger.in("exceptions/Main.throughComparator()J");
        List<Integer> list = new ArrayList<>(List.of(2, 1));
        try {
            list.sort(Main::refusing);
            return Ledger.out(call, 0);
        } catch (IllegalStateException e) {
            return Ledger.out(call, 7);
        }
    }

    private static int refusing(Integer a, Integer b) {
        throw Ledger.threw("exceptions/Main.refusing(Ljava/lang/Integer;Ljava/lang/Integer;)I", new IllegalStateException("order"));
    }
}
