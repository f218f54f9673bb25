package lambdas;

import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import ledger.Fixture;
import ledger.Ledger;
import ledger.Site;

/** Lambdas and method references, made inside the root, and made before and kept. */
public final class Main extends Fixture {
    private static final Site CAPTURING = new Site();
    private static final Site NESTED = new Site();
    private static final Site KEPT = new Site();
    private static final Site THROWING = new Site();
    private static final Referred HELD = new Referred(7);
    private static final IntUnaryOperator KEPT_LAMBDA = x -> {
        Ledger.Call call = Ledger.in(KEPT.name());
        return (int) Ledger.out(call, keptBelow(x));
    };
    private static final IntUnaryOperator KEPT_BOUND = HELD::bound;
    private static final IntUnaryOperator KEPT_STATIC = Referred::byStatic;
    private static final IntFunction<Referred> KEPT_MAKER = Referred::new;
    private static final ToIntFunction<Referred> KEPT_UNBOUND = Referred::unbound;

    @Override
    public long round() {
        return root(5);
    }

    static long root(int times) {
        Ledger.Call call = Ledger.root("lambdas/Main.root(I)J");
        long sum = 0;
        for (int i = 0; i < times; i++) {
            sum += made(i) + kept(i) + throwing(i);
        }
        return Ledger.out(call, sum);
    }

    private static long made(int i) {
        Ledger.Call call = Ledger.in("lambdas/Main.made(I)J");
        Supplier<IntUnaryOperator> capturing = () -> {
            Ledger.count(CAPTURING.name());
            return x -> {
                Ledger.count(NESTED.name());
                return x * i;
            };
        };
        Function<Integer, Referred> maker = Referred::new;
        ToIntFunction<Referred> unbound = Referred::unbound;
        ToIntFunction<Referred> overridden = Referred::overridden;
        Referred referred = maker.apply(i);
        IntUnaryOperator bound = referred::bound;
        IntUnaryOperator fixed = Referred::byStatic;
        long sum = capturing.get().applyAsInt(3) + unbound.applyAsInt(referred) + bound.applyAsInt(i) + fixed.applyAsInt(i);
        return Ledger.out(call, sum + overridden.applyAsInt(referred) + overridden.applyAsInt(new Referred.Derived()));
    }

    private static long kept(int i) {
        Ledger.Call call = Ledger.in("lambdas/Main.kept(I)J");
        long sum = KEPT_LAMBDA.applyAsInt(i) + KEPT_BOUND.applyAsInt(i) + KEPT_STATIC.applyAsInt(i);
        return Ledger.out(call, sum + KEPT_UNBOUND.applyAsInt(KEPT_MAKER.apply(i)));
    }

    private static int keptBelow(int x) {
        Ledger.count("lambdas/Main.keptBelow(I)I");
        return x * 5;
    }

    private static long throwing(int i) {
        Ledger.Call call = Ledger.in("lambdas/Main.throwing(I)J");
        Runnable runnable = () -> {
            throw Ledger.threw(THROWING.name(), new IllegalStateException("lambda"));
        };
        try {
            runnable.run();
            return Ledger.out(call, 0);
        } catch (IllegalStateException e) {
            return Ledger.out(call, i);
        }
    }
}
