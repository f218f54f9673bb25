package dynamic;

import harness.Site;
import harness.Tally;
import java.util.Comparator;
import java.util.List;
import java.util.function.BinaryOperator;
import java.util.function.Function;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/** Lambda bodies, and methods that references of every kind lead to. */
final class Lambdas {
    static final Site PLAIN = new Site(10, 0);
    static final Site CAPTURING = new Site(10, 0);
    static final Site OF_INSTANCE = new Site(10, 0);
    static final Site NESTED = new Site(30, 0);
    static final Site THROWING = new Site(10, 10);
    static final int STATIC = Tally.exact(Lambdas.class, "referredStatic", 20, 0);
    static final int BOUND = Tally.exact(Lambdas.class, "referredBound", 10, 0);
    static final int UNBOUND = Tally.exact(Lambdas.class, "referredUnbound", 10, 0);
    static final int MADE = Tally.exact(Lambdas.class, "<init>", 11, 0);
    private final int state;

    Lambdas(int state) {
        Tally.in(MADE);
        this.state = state;
    }

    static int referredStatic(int x) {
        Tally.in(STATIC);
        return x + 1;
    }

    int referredBound(int x) {
        Tally.in(BOUND);
        return x + state;
    }

    int referredUnbound() {
        Tally.in(UNBOUND);
        return state;
    }

    private IntUnaryOperator ofInstance() {
        return x -> {
            OF_INSTANCE.in();
            return x * state;
        };
    }

    static long work() {
        long sum = 0;
        Lambdas held = new Lambdas(7);
        BinaryOperator<Integer> plain = (a, b) -> {
            PLAIN.in();
            return a * b;
        };
        Function<Integer, Lambdas> maker = Lambdas::new;
        Function<Lambdas, Integer> unbound = Lambdas::referredUnbound;
        IntUnaryOperator bound = held::referredBound;
        for (int i = 0; i < 10; i++) {
            int captured = i;
            Supplier<Integer> capturing = () -> {
                CAPTURING.in();
                return IntStream.range(0, 3).map(x -> {
                    NESTED.in();
                    return x * captured;
                }).sum();
            };
            Runnable throwing = () -> {
                THROWING.in();
                throw THROWING.out(new IllegalStateException("lambda"));
            };
            sum += plain.apply(i, 3) + capturing.get() + held.ofInstance().applyAsInt(i);
            sum += unbound.apply(maker.apply(i)) + bound.applyAsInt(i);
            try {
                throwing.run();
            } catch (IllegalStateException e) {
                sum += e.getMessage().length();
            }
        }
        sum += IntStream.range(0, 20).map(Lambdas::referredStatic).sum();
        sum += List.of(3, 1, 2).stream().sorted(Comparator.reverseOrder()).findFirst().orElse(0);
        return sum;
    }
}
