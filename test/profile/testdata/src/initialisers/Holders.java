package initialisers;

import ledger.Ledger;

/** Classes whose static initialisers first run inside the root, each for another reason. */
final class Holders {
    private Holders() {
    }

    static long below(long x) {
        Ledger.count("initialisers/Holders.below(J)J");
        return x * 2;
    }

    /** By a static call. */
    static final class Called {
        static final long VALUE;

        static {
            Ledger.Call call = Ledger.in("initialisers/Holders$Called.<clinit>()V");
            VALUE = Ledger.out(call, below(1));
        }

        private Called() {
        }

        static long get() {
            Ledger.count("initialisers/Holders$Called.get()J");
            return VALUE;
        }
    }

    /** By reading a field. */
    static final class Read {
        static long value;

        static {
            Ledger.Call call = Ledger.in("initialisers/Holders$Read.<clinit>()V");
            value = Ledger.out(call, below(2));
        }

        private Read() {
        }
    }

    /** By making an object of a class below it. */
    static class Parent {
        static {
            Ledger.Call call = Ledger.in("initialisers/Holders$Parent.<clinit>()V");
            below(3);
            Ledger.out(call);
        }
    }

    /** By making an object; its parent is initialised first. */
    static final class Made extends Parent {
        static {
            Ledger.count("initialisers/Holders$Made.<clinit>()V");
        }
    }

    /** By its name. */
    static final class Named {
        static {
            Ledger.Call call = Ledger.in("initialisers/Holders$Named.<clinit>()V");
            below(4);
            Ledger.out(call);
        }

        private Named() {
        }
    }

    /** By a static call; was loaded before, and not initialised. */
    static final class LoadedBefore {
        static {
            Ledger.Call call = Ledger.in("initialisers/Holders$LoadedBefore.<clinit>()V");
            below(5);
            Ledger.out(call);
        }

        private LoadedBefore() {
        }

        static long get() {
            Ledger.count("initialisers/Holders$LoadedBefore.get()J");
            return 6;
        }
    }

    /** Never succeeds. */
    static final class Failing {
        static {
            Ledger.Call call = Ledger.in("initialisers/Holders$Failing.<clinit>()V");
            if (below(0) == 0) {
                throw Ledger.threw(call, new IllegalStateException("initialiser"));
            }
        }

        private Failing() {
        }

        static long get() {
            return 1;
        }
    }
}
