import java.util.function.LongUnaryOperator;

/**
 * One piece of the program's work. Load defines this class many times over, each time by another
 * loader, which gives many classes and many compiled methods that all depend on Central.
 */
public final class Step implements LongUnaryOperator {
    private final Central[] parts = new Central[16];

    public Step() {
        for (int i = 0; i < parts.length; i++) {
            parts[i] = Central.of(i);
        }
    }

    @Override
    public long applyAsLong(long seed) {
        long sum = 0;
        sum += scan(seed);
        sum ^= pairs(sum);
        sum += heavies();
        sum ^= chain(sum, 6);
        return sum + extremes();
    }

    private long scan(long seed) {
        long sum = seed;
        for (Central part : parts) {
            sum = part.turn(sum);
        }
        return sum;
    }

    private long pairs(long seed) {
        long sum = seed;
        for (int i = 1; i < parts.length; i++) {
            sum += parts[i].compare(parts[i - 1]) < 0 ? Central.mix(sum) : parts[i].grow(sum);
        }
        return sum;
    }

    private int heavies() {
        int count = 0;
        for (Central part : parts) {
            if (part.heavy()) {
                count++;
            }
        }
        return count;
    }

    private long chain(long seed, int depth) {
        if (depth == 0) {
            return Central.mix(seed);
        }
        Central part = parts[(int) (seed & 15)];
        return part.heavy() ? chain(part.turn(seed), depth - 1) : chain(Central.mix(seed), depth - 1);
    }

    private long extremes() {
        Central least = parts[0];
        Central most = parts[0];
        for (Central part : parts) {
            least = part.compare(least) < 0 ? part : least;
            most = part.compare(most) > 0 ? part : most;
        }
        return least.grow(1) - most.grow(1);
    }
}
