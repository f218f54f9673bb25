import java.util.function.IntUnaryOperator;

/** A class that comes and goes. */
public final class TorturePassing implements IntUnaryOperator {
    @Override
    public int applyAsInt(int x) {
        return x * 31 + 7;
    }
}
