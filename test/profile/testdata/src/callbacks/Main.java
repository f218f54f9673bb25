package callbacks;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import ledger.Fixture;
import ledger.Ledger;
import ledger.Site;

/** Methods that only the JDK calls: in streams, by comparators, as keys of maps. */
public final class Main extends Fixture {
    private static final Site MAPPED = new Site();
    private static final Site KEPT = new Site();
    private static final Site ABSENT = new Site();
    private static final Comparator<Key> MADE_BEFORE = (a, b) -> {
        Ledger.Call call = Ledger.in(KEPT.name());
        int order = Key.order(b, a);
        Ledger.out(call);
        return order;
    };
    private static final Comparator<Key> REFERRED_BEFORE = Key::order;

    @Override
    public long round() {
        return root();
    }

    static long root() {
        Ledger.Call call = Ledger.root("callbacks/Main.root()J");
        return Ledger.out(call, streams() + sorts() + maps());
    }

    private static long streams() {
        Ledger.Call call = Ledger.in("callbacks/Main.streams()J");
        long sum = IntStream.range(0, 6).map(x -> {
            Ledger.count(MAPPED.name());
            return x * 3;
        }).map(Key::twice).sum();
        sum += List.of(3, 1, 2).stream().map(Key::new).mapToLong(Key::rank).sum();
        return Ledger.out(call, sum);
    }

    private static long sorts() {
        Ledger.Call call = Ledger.in("callbacks/Main.sorts()J");
        long sum = 0;
        for (Comparator<Key> order : List.of(MADE_BEFORE, REFERRED_BEFORE, new Backwards(), Comparator.<Key>naturalOrder())) {
            List<Key> keys = new ArrayList<>(List.of(new Key(2), new Key(1)));
            keys.sort(order);
            sum = sum * 10 + keys.get(0).rank();
        }
        return Ledger.out(call, sum);
    }

    private static long maps() {
        Ledger.Call call = Ledger.in("callbacks/Main.maps()J");
        Map<Key, Long> hashed = new HashMap<>();
        Map<Key, Long> sorted = new TreeMap<>();
        for (int i = 0; i < 4; i++) {
            Key key = new Key(i % 2);
            hashed.merge(key, 1L, Long::sum);
            sorted.computeIfAbsent(key, k -> {
                Ledger.Call absent = Ledger.in(ABSENT.name());
                return Ledger.out(absent, k.rank());
            });
        }
        return Ledger.out(call, hashed.size() + sorted.size());
    }

    /** A class of its own that compares. */
    static final class Backwards implements Comparator<Key> {
        @Override
        public int compare(Key a, Key b) {
            Ledger.Call call = Ledger.in("callbacks/Main$Backwards.compare(Lcallbacks/Key;Lcallbacks/Key;)I");
            int order = b.compareTo(a);
            Ledger.out(call);
            return order;
        }
    }
}
