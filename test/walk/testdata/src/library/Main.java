package library;

import harness.Harness;
import harness.Way;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** Hot methods of the JDK: a map that is too large for the caches, and a list that is searched from its beginning. */
public final class Main implements Harness.Fixture {
    private static final String MAP = "java/util/HashMap,java/lang/Integer";
    private static final String LIST = "java/util/ArrayList,java/lang/Object";
    private static final int ENTRIES = 200_000;
    private static final int ELEMENTS = 5_000;

    private static final Way PRICES = Way.to(MAP);
    private static final Way NAMES = Way.to(MAP);
    private static final Way RANK = Way.to(LIST);
    private static final Way REMOVAL = Way.to(LIST);

    private final Map<Integer, Integer> map = new HashMap<>();
    private final List<Integer> keys = new ArrayList<>();
    private final List<Object> list = new ArrayList<>();

    public Main() {
        for (int i = 0; i < ENTRIES; i++) {
            map.put(i * 7919, i);
            keys.add(new Random(i).nextInt(ENTRIES) * 7919);
        }
        Collections.shuffle(keys, new Random(1));
        for (int i = 0; i < ELEMENTS; i++) {
            list.add(new Object());
        }
    }

    @Override
    public long turn() {
        int seed = (int) System.nanoTime() >>> 1;
        long began = PRICES.begin();
        long sum = prices(seed);
        PRICES.end(began);
        began = NAMES.begin();
        sum += names(seed);
        NAMES.end(began);
        began = RANK.begin();
        sum += rank(70);
        RANK.end(began);
        began = REMOVAL.begin();
        sum += removal(30);
        REMOVAL.end(began);
        return sum;
    }

    private long prices(int seed) {
        return lookUp(seed, 12_000);
    }

    private long lookUp(int seed, int calls) {
        Way.here();
        long sum = 0;
        int at = seed % (ENTRIES - calls);
        for (int i = 0; i < calls; i++) {
            sum += map.get(keys.get(at + i));
        }
        return sum;
    }

    private long names(int seed) {
        Way.here();
        long sum = 0;
        int at = seed % (ENTRIES - 8_000);
        for (int i = 0; i < 8_000; i++) {
            sum += map.get(keys.get(at + i));
        }
        return sum;
    }

    private long rank(int calls) {
        Way.here();
        long sum = 0;
        for (int i = 0; i < calls; i++) {
            sum += list.indexOf(list.get(ELEMENTS - 1 - i));
        }
        return sum;
    }

    private long removal(int calls) {
        Way.here();
        long sum = 0;
        for (int i = 0; i < calls; i++) {
            sum += list.indexOf(list.get(ELEMENTS - 1 - i));
        }
        return sum;
    }
}
