package shapes;

import harness.Tally;

/** Enums with bodies, and records with a constructor that may refuse. */
final class Kinds {
    static final int APPLY_PLUS = Tally.register("shapes/Kinds$Operation$1.apply(II)I", Tally.Trust.EXACT, 5, 0);
    static final int APPLY_TIMES = Tally.register("shapes/Kinds$Operation$2.apply(II)I", Tally.Trust.EXACT, 5, 0);
    static final int SYMBOL = Tally.exact(Operation.class, "symbol", 10, 0);
    static final int RANGE = Tally.exact(Range.class, "<init>(II)V", 25, 5);
    static final int SHORTER = Tally.entries(Range.class, "<init>(I)V", 5, 0);
    static final int LOW = Tally.exact(Range.class, "low", 10, 0);
    static final int WIDTH = Tally.exact(Range.class, "width", 10, 0);

    enum Operation {
        PLUS('+') {
            @Override
            int apply(int a, int b) {
                Tally.in(APPLY_PLUS);
                return a + b;
            }
        },
        TIMES('*') {
            @Override
            int apply(int a, int b) {
                Tally.in(APPLY_TIMES);
                return a * b;
            }
        };

        private final char symbol;

        Operation(char symbol) {
            this.symbol = symbol;
        }

        abstract int apply(int a, int b);

        char symbol() {
            Tally.in(SYMBOL);
            return symbol;
        }
    }

    record Range(int low, int high) {
        Range {
            Tally.in(RANGE);
            if (low > high) {
                throw Tally.out(RANGE, new IllegalArgumentException("upside down"));
            }
        }

        Range(int high) {
            this(Tally.in(SHORTER, 0), high);
        }

        @Override
        public int low() {
            Tally.in(LOW);
            return low;
        }

        int width() {
            Tally.in(WIDTH);
            return high - low();
        }
    }

    private Kinds() {
    }

    static long work() {
        long sum = 0;
        for (int i = 0; i < 5; i++) {
            for (Operation operation : Operation.values()) {
                sum += operation.apply(i, 3) + operation.symbol();
            }
            try {
                sum += new Range(i).width() + new Range(1, i + 1).width();
                sum += new Range(i, i - 1).width();
            } catch (IllegalArgumentException e) {
                sum += 1;
            }
            // Equality and hashing come from call sites that the JVM links at run time.
            Range range = new Range(2, 9);
            sum += range.hashCode() + (range.equals(new Range(2, 9)) ? 1 : 1000) + range.toString().length();
        }
        return sum;
    }
}
