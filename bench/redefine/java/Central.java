/** The class everything depends on: nearly every compiled method has some of it inlined. */
public abstract class Central {
    long weight;
    int turns;

    public abstract long grow(long by);

    public static Central of(int kind) {
        return kind % 2 == 0 ? new Even() : new Odd();
    }

    public final long turn(long seed) {
        turns++;
        weight = mix(weight ^ seed);
        return grow(weight);
    }

    public static long mix(long value) {
        long v = value * 0x9E3779B97F4A7C15L;
        v ^= v >>> 29;
        v *= 0xBF58476D1CE4E5B9L;
        return v ^ (v >>> 32);
    }

    public int compare(Central other) {
        return Long.compare(weight & 0xffff, other.weight & 0xffff);
    }

    public boolean heavy() {
        return (weight & 7) == 0;
    }

    static final class Even extends Central {
        @Override
        public long grow(long by) {
            return by + 2 * turns;
        }
    }

    static final class Odd extends Central {
        @Override
        public long grow(long by) {
            return heavy() ? by - turns : by + turns;
        }
    }
}
