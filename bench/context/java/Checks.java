package driven;

import java.lang.reflect.Field;

/** The condition {@code $order.tier == "gold" && $order.amount > 100}, asked in other ways than Sonde's. */
public final class Checks {
    /** For how many calls it held. */
    public static long held;

    // As an engine holds them that gets its conditions while the program runs: they are no constants to the compiler.
    private static Reflected reflected = new Reflected(field("tier"), "gold", field("amount"), 100);
    private static Node tree = new And(
            new Equal(new Read(new Argument(1), field("tier")), "gold"),
            new Greater(new Read(new Argument(1), field("amount")), 100));

    private Checks() {
    }

    private static Field field(String name) {
        try {
            return Order.class.getField(name);
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException(e);
        }
    }

    /** By reflection. */
    public static void reflect(Order order) {
        if (reflected.holds(order)) {
            held++;
        }
    }

    /** By an interpreter of its tree. */
    public static void interpret(long x, Order order) {
        if (tree.value(new Object[] {x, order}) == Boolean.TRUE) {
            held++;
        }
    }

    private static final class Reflected {
        private final Field first;
        private final String equal;
        private final Field second;
        private final int more;

        Reflected(Field first, String equal, Field second, int more) {
            this.first = first;
            this.equal = equal;
            this.second = second;
            this.more = more;
        }

        boolean holds(Object object) {
            try {
                return equal.equals(first.get(object)) && second.getInt(object) > more;
            } catch (IllegalAccessException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** A node of a condition's tree. */
    private interface Node {
        Object value(Object[] arguments);
    }

    private static final class And implements Node {
        private final Node left;
        private final Node right;

        And(Node left, Node right) {
            this.left = left;
            this.right = right;
        }

        @Override
        public Object value(Object[] arguments) {
            return left.value(arguments) == Boolean.TRUE && right.value(arguments) == Boolean.TRUE;
        }
    }

    private static final class Equal implements Node {
        private final Node left;
        private final Object right;

        Equal(Node left, Object right) {
            this.left = left;
            this.right = right;
        }

        @Override
        public Object value(Object[] arguments) {
            return right.equals(left.value(arguments));
        }
    }

    private static final class Greater implements Node {
        private final Node left;
        private final long right;

        Greater(Node left, long right) {
            this.left = left;
            this.right = right;
        }

        @Override
        public Object value(Object[] arguments) {
            Object value = left.value(arguments);
            return value instanceof Number && ((Number) value).longValue() > right;
        }
    }

    private static final class Argument implements Node {
        private final int index;

        Argument(int index) {
            this.index = index;
        }

        @Override
        public Object value(Object[] arguments) {
            return arguments[index];
        }
    }

    private static final class Read implements Node {
        private final Node of;
        private final Field field;

        Read(Node of, Field field) {
            this.of = of;
            this.field = field;
        }

        @Override
        public Object value(Object[] arguments) {
            Object object = of.value(arguments);
            try {
                return object == null ? null : field.get(object);
            } catch (IllegalAccessException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
