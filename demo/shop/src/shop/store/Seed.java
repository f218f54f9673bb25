package shop.store;

import java.time.LocalDate;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Fills an empty shop, always with the same products, customers and orders. */
public final class Seed {
    public static final int PRODUCTS = 400;
    public static final int CUSTOMERS = 200;

    /** Every fourth customer is premium, and has ordered more often. */
    private static final int PREMIUM_ORDERS = 60;
    private static final int REGULAR_ORDERS = 8;
    private static final int RULE_DAYS = 730;

    private static final List<String> CATEGORIES = List.of("kitchen", "garden", "office", "travel", "sports");
    private static final List<String> LOOKS = List.of("blue", "compact", "folding", "steel", "wooden", "light", "large",
        "classic");
    private static final List<String> THINGS = List.of("kettle", "lamp", "bag", "chair", "rake", "notebook", "bottle",
        "tent", "bench", "scale");

    private final Database database;
    private final Random random = new Random(4);
    private final LocalDate today;

    public Seed(Database database, LocalDate today) {
        this.database = database;
        this.today = today;
    }

    public void fill() {
        database.batch("INSERT INTO products VALUES (?, ?, ?, ?, ?, ?)", ids(PRODUCTS).mapToObj(this::product));
        database.batch("INSERT INTO customers VALUES (?, ?, ?)", ids(CUSTOMERS).mapToObj(this::customer));
        database.batch("INSERT INTO tier_rules (tier, valid_from, points_percent) VALUES (?, ?, ?)",
            IntStream.range(0, RULE_DAYS).boxed().flatMap(this::rulesOfDay));
        database.batch("INSERT INTO orders (customer, placed, cents, payment, reference) VALUES (?, ?, ?, ?, ?)",
            ids(CUSTOMERS).boxed().flatMap(this::ordersOf));
        database.batch("INSERT INTO order_lines VALUES (?, ?, ?, ?, ?)",
            database.query("SELECT id, cents FROM orders", row -> new long[] {row.getLong(1), row.getLong(2)}).stream()
                .map(order -> new Object[] {order[0], 1, 1 + random.nextInt(PRODUCTS), 1, order[1]}));
    }

    private static IntStream ids(int count) {
        return IntStream.rangeClosed(1, count);
    }

    private Object[] product(int id) {
        String look = LOOKS.get(id % LOOKS.size());
        String thing = THINGS.get(id / LOOKS.size() % THINGS.size());
        return new Object[] {id, look + " " + thing + " " + id, CATEGORIES.get(id % CATEGORIES.size()),
            500L + random.nextInt(20_000), 100 + random.nextInt(8_000), 500};
    }

    private Object[] customer(int id) {
        return new Object[] {id, "Customer " + id, isPremium(id) ? "PREMIUM" : "REGULAR"};
    }

    private Stream<Object[]> rulesOfDay(int daysAgo) {
        LocalDate day = today.minusDays(daysAgo);
        return Stream.of(new Object[] {"PREMIUM", day, 3 + random.nextInt(4)},
            new Object[] {"REGULAR", day, 1 + random.nextInt(2)});
    }

    private Stream<Object[]> ordersOf(int customer) {
        int count = isPremium(customer) ? PREMIUM_ORDERS : REGULAR_ORDERS;
        return IntStream.range(0, count).mapToObj(i -> new Object[] {customer, today.minusDays(1 + random.nextInt(360)),
            1_000L + random.nextInt(30_000), i % 2 == 0 ? "card" : "invoice", "seed-" + customer + "-" + i});
    }

    private static boolean isPremium(int customer) {
        return customer % 4 == 0;
    }
}
