package lambdas;

import harness.Harness;
import harness.Way;

import java.util.HashMap;
import java.util.Map;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;

/** A hot lambda that streams call, by two ways, and two that lie in a map. */
public final class Main implements Harness.Fixture {
    private static final int STEPS = 4_000;
    private static final Way TOTALS = Way.toOwn();
    private static final Way FORECAST = Way.toOwn();
    private static final Way RULES = Way.toOwn();
    private static final Map<String, IntUnaryOperator> BY_NAME = new HashMap<>();

    static {
        BY_NAME.put("discount", amount -> {
            Way.here();
            int x = amount | 1;
            for (int left = STEPS; left > 0; left -= 1 + (x & 1)) {
                x ^= x << 13;
                x ^= x >>> 17;
                x ^= x << 5;
            }
            return x;
        });
        BY_NAME.put("freight", amount -> {
            Way.here();
            int x = amount | 1;
            for (int left = STEPS; left > 0; left -= 1 + (x & 1)) {
                x ^= x << 5;
                x ^= x >>> 9;
                x ^= x << 7;
            }
            return x;
        });
    }

    @Override
    public long turn() {
        long began = TOTALS.begin();
        long sum = totals();
        TOTALS.end(began);
        began = FORECAST.begin();
        sum += forecast();
        FORECAST.end(began);
        began = RULES.begin();
        sum += rule("discount", 25) + rule("freight", 15);
        RULES.end(began);
        return sum;
    }

    private static long totals() {
        return stream(45);
    }

    private static long forecast() {
        return stream(15);
    }

    private static long stream(int amounts) {
        return IntStream.range(0, amounts).map(amount -> {
            Way.here();
            int x = amount + 0x9E3779B9;
            for (int left = STEPS; left > 0; left -= 1 + (x & 1)) {
                x ^= x >>> 6;
                x ^= x << 15;
                x ^= x >>> 11;
            }
            return x;
        }).asLongStream().sum();
    }

    private static long rule(String name, int amounts) {
        long sum = 0;
        for (int i = 0; i < amounts; i++) {
            sum += BY_NAME.get(name).applyAsInt(i);
        }
        return sum;
    }
}
