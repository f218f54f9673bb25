package recursion;

import ledger.Fixture;
import ledger.Ledger;

/** Recursion: direct, mutual, sixty deep, through an interface, and ended by an exception. */
public final class Main extends Fixture {
    private static final int DEEP = 60;

    /** Calls itself through another. */
    interface Visitor {
        long visit(int depth, Visitor other);
    }

    private static final class Left implements Visitor {
        @Override
        public long visit(int depth, Visitor other) {
            Ledger.Call call = Ledger.in("recursion/Main$Left.visit(ILrecursion/Main$Visitor;)J");
            return Ledger.out(call, depth == 0 ? 1 : other.visit(depth - 1, this) + 1);
        }
    }

    private static final class Right implements Visitor {
        @Override
        public long visit(int depth, Visitor other) {
            Ledger.Call call = Ledger.in("recursion/Main$Right.visit(ILrecursion/Main$Visitor;)J");
            return Ledger.out(call, depth == 0 ? 2 : other.visit(depth - 1, this) * 3);
        }
    }

    @Override
    public long round() {
        return root();
    }

    static long root() {
        Ledger.Call call = Ledger.root("recursion/Main.root()J");
        long sum = deep(DEEP) + even(7) + fibonacci(6) + new Left().visit(9, new Right());
        try {
            sum += failing(8);
        } catch (IllegalStateException e) {
            sum += e.getMessage().length();
        }
        return Ledger.out(call, sum);
    }

    private static long deep(int n) {
        Ledger.Call call = Ledger.in("recursion/Main.deep(I)J");
        return Ledger.out(call, n == 0 ? 1 : deep(n - 1) + n);
    }

    private static long even(int n) {
        Ledger.Call call = Ledger.in("recursion/Main.even(I)J");
        return Ledger.out(call, n == 0 ? 1 : odd(n - 1));
    }

    private static long odd(int n) {
        Ledger.Call call = Ledger.in("recursion/Main.odd(I)J");
        return Ledger.out(call, n == 0 ? 0 : even(n - 1));
    }

    private static long fibonacci(int n) {
        Ledger.Call call = Ledger.in("recursion/Main.fibonacci(I)J");
        return Ledger.out(call, n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2));
    }

    private static long failing(int n) {
        Ledger.Call call = Ledger.in("recursion/Main.failing(I)J");
        try {
            if (n == 0) {
                throw new IllegalStateException("bottom");
            }
            return Ledger.out(call, failing(n - 1));
        } catch (IllegalStateException e) {
            throw Ledger.threw(call, e);
        }
    }
}
