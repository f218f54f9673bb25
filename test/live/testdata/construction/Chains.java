package construction;

import harness.Tally;

/** Chains of this(...) and super(...), which may fail at any link: before, in, or after the call. */
final class Chains {
    static final int BASE = Tally.exact(Base.class, "<init>(I)V", 30, 5);
    static final int BASE_SHORT = Tally.entries(Base.class, "<init>()V", 5, 0);
    static final int MIDDLE = Tally.entries(Middle.class, "<init>", 25, 0);
    static final int LEAF = Tally.entries(Leaf.class, "<init>(ILjava/lang/String;)V", 25, 5);
    static final int LEAF_SHORT = Tally.entries(Leaf.class, "<init>(I)V", 30, 0);
    static final int ARGUMENT = Tally.exact(Chains.class, "argumentOfSuper", 30, 5);
    static final int FIELD = Tally.exact(Chains.class, "fieldInitialiser", 20, 0);
    static final int LEAKS = Tally.exact(Leaf.class, "calledByBase", 20, 0);
    static final int BASE_CALLED = Tally.exact(Base.class, "calledByBase", 5, 0);
    static final int FAILS_LATE = Tally.exact(FailsLate.class, "<init>", 5, 5);
    static final int CATCHES = Tally.exact(CatchesInside.class, "<init>", 5, 0);

    static class Base {
        final long state;

        Base(int x) {
            Tally.in(BASE);
            if (x == 3) {
                throw Tally.out(BASE, new IllegalStateException("in the super constructor"));
            }
            state = x + calledByBase();
        }

        Base() {
            this(Tally.in(BASE_SHORT, 40));
        }

        long calledByBase() {
            Tally.in(BASE_CALLED);
            return 1;
        }
    }

    static class Middle extends Base {
        Middle(int x) {
            super(Tally.in(MIDDLE, x));
        }
    }

    static final class Leaf extends Middle {
        private final long own = fieldInitialiser();

        Leaf(int x, String text) {
            super(Tally.in(LEAF, x) + (text.isEmpty() ? 0 : 0));
            if (x == 4) {
                throw Tally.out(LEAF, new IllegalArgumentException("after super"));
            }
        }

        Leaf(int x) {
            this(argumentOfSuper(Tally.in(LEAF_SHORT, x)), "text");
        }

        @Override
        long calledByBase() {
            Tally.in(LEAKS);
            return own + 100; // own is not set yet
        }
    }

    static final class FailsLate {
        FailsLate(Object[] registry) {
            Tally.in(FAILS_LATE);
            registry[0] = this;
            throw Tally.out(FAILS_LATE, new IllegalStateException("after this escaped"));
        }
    }

    static final class CatchesInside {
        final int caught;

        CatchesInside() {
            Tally.in(CATCHES);
            int n = 0;
            try {
                new FailsLate(new Object[1]);
            } catch (IllegalStateException e) {
                n++;
            }
            caught = n;
        }
    }

    private Chains() {
    }

    static int argumentOfSuper(int x) {
        Tally.in(ARGUMENT);
        if (x == 5) {
            throw Tally.out(ARGUMENT, new UnsupportedOperationException("before super"));
        }
        return x;
    }

    static long fieldInitialiser() {
        Tally.in(FIELD);
        return 9;
    }

    static long work() {
        long sum = 0;
        for (int i = 0; i < 5; i++) {
            for (int x = 0; x < 6; x++) {
                try {
                    Leaf leaf = new Leaf(x);
                    sum += leaf.state + leaf.own;
                } catch (IllegalStateException | IllegalArgumentException | UnsupportedOperationException e) {
                    sum += e.getMessage().length();
                }
            }
            sum += new Base().state + new CatchesInside().caught;
        }
        return sum;
    }
}
