package bare;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import overhead.Shape;

/** What programs do all day: text, maps, sorting, garbage. No method of it is ever woven. */
public final class Everyday implements Shape {
    private static final int WORDS = 64;

    @Override
    public int calls() {
        return 1;
    }

    @Override
    public long run(long seed, int turns) {
        long x = seed;
        for (int i = 0; i < turns; i++) {
            x = turn(x);
        }
        return x;
    }

    private static long turn(long seed) {
        long x = seed;
        Map<String, Integer> counts = new HashMap<>();
        long[] numbers = new long[WORDS];
        for (int i = 0; i < WORDS; i++) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
            numbers[i] = x;
            counts.merge("word" + (x & 31), 1, Integer::sum);
        }
        Arrays.sort(numbers);
        for (Map.Entry<String, Integer> entry : counts.entrySet()) {
            x += entry.getKey().hashCode() * 31L + entry.getValue();
        }
        return x ^ numbers[WORDS / 2] | 1;
    }
}
