package shapes;

import harness.Tally;
import java.util.function.IntSupplier;

/** Inner, nested, local and anonymous classes that reach each other's private parts. */
final class Nested {
    static final int INNER_MAKE = Tally.exact(Inner.class, "<init>", 5, 0);
    static final int INNER_READ = Tally.exact(Inner.class, "readOuter", 5, 0);
    static final int STATIC_READ = Tally.exact(Static.class, "readPrivate", 5, 0);
    static final int PRIVATE = Tally.exact(Nested.class, "privateOfOuter", 15, 0);
    static final int ANONYMOUS = Tally.register("shapes/Nested$1.getAsInt()I", Tally.Trust.EXACT, 5, 0);
    static final int LOCAL = Tally.register("shapes/Nested$1Local.twice()I", Tally.Trust.EXACT, 5, 0);
    private int state = 11;

    final class Inner {
        private final int held;

        Inner(int held) {
            Tally.in(INNER_MAKE);
            this.held = held;
        }

        int readOuter() {
            Tally.in(INNER_READ);
            return state + held + privateOfOuter();
        }
    }

    static final class Static {
        static int readPrivate(Nested nested) {
            Tally.in(STATIC_READ);
            return nested.privateOfOuter();
        }
    }

    private int privateOfOuter() {
        Tally.in(PRIVATE);
        return state * 2;
    }

    long work() {
        long sum = 0;
        for (int i = 0; i < 5; i++) {
            int captured = i;
            IntSupplier anonymous = new IntSupplier() {
                @Override
                public int getAsInt() {
                    Tally.in(ANONYMOUS);
                    return captured + privateOfOuter();
                }
            };
            class Local {
                int twice() {
                    Tally.in(LOCAL);
                    return captured * 2;
                }
            }
            sum += new Inner(i).readOuter() + Static.readPrivate(this) + anonymous.getAsInt() + new Local().twice();
        }
        return sum;
    }
}
