import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/** Prices orders by many small methods, as programs do: a few nanoseconds each. The hot one is that of the rates. */
final class Orders implements RealProgram.Work {
    private static final AtomicLong PRICED = RealProgram.counter("orders");
    private static final int MANY = 500;
    private static final int LINES = 8;

    private final List<Order> orders = new ArrayList<>();
    private final Rates rates = new Rates();

    Orders() {
        for (int i = 0; i < MANY; i++) {
            orders.add(new Order(i));
        }
    }

    @Override
    public String round() {
        long sum = checkOut();
        for (int i = 0; i < orders.size(); i += 3) {
            sum += report(orders.get(i));
        }
        return Long.toString(sum);
    }

    private long checkOut() {
        long sum = 0;
        for (Order order : orders) {
            sum += order.total(rates);
            PRICED.incrementAndGet();
        }
        return sum;
    }

    private long report(Order order) {
        long sum = 0;
        for (Line line : order.lines) {
            sum += line.tax(rates);
        }
        return sum;
    }

    /** An order and its lines. */
    static final class Order {
        private final List<Line> lines = new ArrayList<>();

        Order(int seed) {
            for (int i = 0; i < LINES; i++) {
                lines.add(new Line(1 + (seed + i) % 5, 99 + (seed * 31 + i) % 1000, Rates.country((seed + i * 7) % 25)));
            }
        }

        long total(Rates rates) {
            long sum = 0;
            for (Line line : lines) {
                sum = Money.plus(sum, line.gross(rates));
            }
            return sum;
        }
    }

    /** A line. */
    static final class Line {
        private final int quantity;
        private final long price;
        private final String country;

        Line(int quantity, long price, String country) {
            this.quantity = quantity;
            this.price = price;
            this.country = country;
        }

        long gross(Rates rates) {
            return Money.plus(net(), tax(rates));
        }

        long net() {
            return Money.times(price, quantity);
        }

        long tax(Rates rates) {
            return Money.part(net(), rates.of(country));
        }
    }

    /** What is done with amounts. */
    static final class Money {
        private Money() {
        }

        static long plus(long a, long b) {
            return a + b;
        }

        static long times(long a, int n) {
            return a * n;
        }

        static long part(long a, int permille) {
            return a * permille / 1000;
        }
    }

    /** Rates by country; looking them up takes most of the time. */
    static final class Rates {
        private final Map<String, Integer> byCountry = new HashMap<>();

        Rates() {
            for (int i = 0; i < 25; i++) {
                byCountry.put(country(i), 100 + i * 5);
            }
        }

        /**
         * Where all text is Latin-1, as in hardly any program, compilers leave out that it could be other. The JVM's
         * recorder has other text, so what is compiled after it has run is slower, whoever started it.
         */
        static String country(int number) {
            String list = number == 24 ? "the list of \u0141\u00f3d\u017a" : "the list";
            return "the country that is on " + list + " as number " + number;
        }

        int of(String country) {
            int hash = 7;
            for (int i = 0; i < country.length(); i++) {
                hash = mix(hash, country.charAt(i));
            }
            return byCountry.get(country) + (hash & 1);
        }

        private static int mix(int hash, char letter) {
            return (hash ^ letter) * 0x01000193;
        }
    }
}
