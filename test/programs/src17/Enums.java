import java.util.Arrays;
import java.util.EnumMap;
import java.util.EnumSet;

/** Enums: constants with bodies, constructors, interfaces, maps and sets, valueOf that fails. */
public final class Enums {
    interface Priced {
        long price();
    }

    enum Fruit implements Priced {
        APPLE(3), PEAR(5) {
            @Override
            public long price() {
                return super.price() * 2;
            }
        }, FIG {
            @Override
            String kind() {
                return "dried";
            }
        };

        private final int base;
        private static final int COUNT;

        static {
            COUNT = values().length;
        }

        Fruit() {
            this(1);
        }

        Fruit(int base) {
            this.base = base;
        }

        @Override
        public long price() {
            return base * 10L;
        }

        String kind() {
            return "fresh";
        }
    }

    enum Operator {
        PLUS("+") { @Override double apply(double a, double b) { return a + b; } },
        TIMES("*") { @Override double apply(double a, double b) { return a * b; } };

        final String symbol;

        Operator(String symbol) {
            this.symbol = symbol;
        }

        abstract double apply(double a, double b);
    }

    enum Single { INSTANCE; int uses; int use() { return ++uses; } }

    public static void main(String[] args) {
        for (Fruit fruit : Fruit.values()) {
            System.out.println(fruit + " " + fruit.ordinal() + " " + fruit.price() + " " + fruit.kind() + " "
                    + fruit.getClass().isAnonymousClass() + " " + fruit.getDeclaringClass().getSimpleName());
        }
        for (Operator operator : Operator.values()) {
            System.out.println("2 " + operator.symbol + " 3.5 = " + operator.apply(2, 3.5));
        }
        System.out.println(Fruit.COUNT + " " + Fruit.valueOf("FIG").compareTo(Fruit.APPLE));
        try {
            Fruit.valueOf("PLUM");
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        EnumMap<Fruit, String> map = new EnumMap<>(Fruit.class);
        map.put(Fruit.PEAR, "green");
        map.merge(Fruit.PEAR, "!", String::concat);
        System.out.println(map + " " + EnumSet.complementOf(EnumSet.of(Fruit.PEAR)));
        System.out.println(Single.INSTANCE.use() + Single.INSTANCE.use() + Arrays.toString(Single.values()));
    }
}
