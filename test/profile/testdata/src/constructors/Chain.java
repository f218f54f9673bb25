package constructors;

import ledger.Ledger;

/** Constructors that call this and super. */
class Chain {
    final long value;

    Chain(long value) {
        Ledger.Call call = Ledger.in("constructors/Chain.<init>(J)V");
        this.value = made(value);
        if (value < 0) {
            throw Ledger.threw(call, new IllegalArgumentException("negative"));
        }
        Ledger.out(call);
    }

    Chain() {
        this(Ledger.in("constructors/Chain.<init>()V", 3));
        Ledger.out(Ledger.find("constructors/Chain.<init>()V"));
    }

    static long made(long x) {
        Ledger.count("constructors/Chain.made(J)J");
        return x + 1;
    }

    /** Calls a method in the arguments of super, has an initialiser, and throws behind super. */
    static final class Behind extends Chain {
        private static final String NAME = "constructors/Chain$Behind.<init>(J)V";
        final long own = initialised();

        Behind(long value) {
            super(made(Ledger.in(NAME, value)));
            Ledger.Call call = Ledger.find(NAME);
            if (value > 5) {
                throw Ledger.threw(call, new IllegalStateException("behind super"));
            }
            Ledger.out(call);
        }

        private static long initialised() {
            Ledger.count("constructors/Chain$Behind.initialised()J");
            return 8;
        }
    }

    /** Its call of super may throw, which no handler in it can see. */
    static class Middle extends Chain {
        private static final String NAME = "constructors/Chain$Middle.<init>(J)V";

        Middle(long value) {
            super(Ledger.unsure(NAME, value));
            Ledger.out(Ledger.find(NAME));
        }
    }

    /** Is two calls of super away from what may throw. */
    static final class Last extends Middle {
        private static final String NAME = "constructors/Chain$Last.<init>(J)V";

        Last(long value) {
            super(Ledger.unsure(NAME, value));
            Ledger.out(Ledger.find(NAME));
        }
    }

    /** Is made with its outer object. */
    final class Inner {
        final long both;

        Inner(long x) {
            Ledger.count("constructors/Chain$Inner.<init>(Lconstructors/Chain;J)V");
            both = x + value;
        }
    }
}
