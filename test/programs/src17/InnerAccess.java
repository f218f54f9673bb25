/** Inner, local and anonymous classes that reach private members of each other and captured variables. */
public final class InnerAccess {
    private int count = 1;
    private static long total;

    private int bump(int by) {
        return count += by;
    }

    private final class Inner {
        private int count = 10;

        private int both() {
            InnerAccess.this.count++;
            return count + InnerAccess.this.count + bump(2);
        }

        final class Deeper {
            private String all() {
                return count + "/" + InnerAccess.this.count + "/" + Inner.this.both() + "/" + (total += 3);
            }
        }
    }

    private static final class Nested {
        private final String secret;

        private Nested(String secret) {
            this.secret = secret;
        }

        private static Nested make() {
            return new Nested("made");
        }
    }

    interface Counter {
        int next();
    }

    Counter counter(int start) {
        int[] state = {start};
        class Local implements Counter {
            final int step;

            Local(int step) {
                this.step = step;
            }

            @Override
            public int next() {
                return state[0] += step + count;
            }
        }
        return new Local(start > 5 ? 2 : 1);
    }

    static Counter chain(Counter inner) {
        return new Counter() {
            private int calls;

            @Override
            public int next() {
                return inner.next() * 10 + ++calls;
            }
        };
    }

    class Sub extends Outsider {
        Sub() {
            super(InnerAccess.this.count);
        }

        @Override
        protected int hook() {
            return super.hook() + count;
        }
    }

    abstract static class Outsider {
        final int seen;

        Outsider(int n) {
            seen = n + hook();
        }

        protected int hook() {
            return 1000;
        }
    }

    public static void main(String[] args) {
        InnerAccess outer = new InnerAccess();
        Inner inner = outer.new Inner();
        System.out.println(inner.both() + " " + inner.new Deeper().all() + " " + inner.count);
        System.out.println(Nested.make().secret + new Nested("new").secret);
        Counter counter = chain(outer.counter(7));
        System.out.println(counter.next() + " " + counter.next() + " " + outer.counter(1).next());
        System.out.println(outer.new Sub().seen + " " + total);
    }
}
