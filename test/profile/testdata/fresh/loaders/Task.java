package loaders;

import java.util.function.LongUnaryOperator;
import ledger.Ledger;

/** Is off the class path, and loaded by several loaders under one name. */
public final class Task implements LongUnaryOperator {
    @Override
    public long applyAsLong(long x) {
        Ledger.Call call = Ledger.in("loaders/Task.applyAsLong(J)J");
        return Ledger.out(call, own(x) + Part.of(x));
    }

    private static long own(long x) {
        Ledger.count("loaders/Task.own(J)J");
        return x * 2;
    }

    /** Is loaded by the same loader, when it is first called. */
    static final class Part {
        private Part() {
        }

        static long of(long x) {
            Ledger.count("loaders/Task$Part.of(J)J");
            return x + 5;
        }
    }
}
