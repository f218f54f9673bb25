package dynamic;

import harness.Tally;
import java.util.function.LongUnaryOperator;

/** Only its bytes are used: they become a hidden class, which cannot be changed, in each round. */
final class Secret implements LongUnaryOperator {
    @Override
    public long applyAsLong(long x) {
        Tally.in(Generated.HIDDEN);
        return Generated.calledByHidden(x);
    }
}
