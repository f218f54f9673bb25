package tenants.store;

import java.util.Map;
import tenants.web.Tenant;

/** Fills an empty store, always the same. Tenants differ in just how many agreements they have. */
public final class Seed {
    private static final int PRODUCTS = 200;
    private static final int LINES = 100;
    private static final int FEW = 5;
    private static final int MANY = 5000;

    private final Store store;

    public Seed(Store store) {
        this.store = store;
    }

    public Map<String, Tenant> fill() {
        store.update("CREATE TABLE products (sku VARCHAR PRIMARY KEY, cents BIGINT, stock INT)");
        store.update("CREATE TABLE orders (id INT PRIMARY KEY, tenant INT, sku VARCHAR, quantity INT)");
        store.update("CREATE INDEX orders_of ON orders (tenant)");
        store.update("CREATE TABLE agreements (tenant INT, sku VARCHAR, percent INT)");
        store.update("CREATE INDEX agreements_of ON agreements (tenant, sku)");
        for (int i = 0; i < PRODUCTS; i++) {
            store.update("INSERT INTO products VALUES (?, ?, ?)", sku(i), 100 + i * 7L, i % 50);
        }
        return Map.of("acme", tenant(1, "acme", "basic", FEW), "globex", tenant(2, "globex", "basic", MANY),
            "initech", tenant(3, "initech", "large", FEW));
    }

    private Tenant tenant(int id, String name, String plan, int agreements) {
        for (int i = 0; i < LINES; i++) {
            store.update("INSERT INTO orders VALUES (?, ?, ?, ?)", id * LINES + i, id, sku(i), 1 + i % 3);
        }
        for (int i = 0; i < agreements; i++) {
            store.update("INSERT INTO agreements VALUES (?, ?, ?)", id, sku(i).toLowerCase(), i % 10);
        }
        return new Tenant(id, name, plan);
    }

    private static String sku(int number) {
        return "SKU-" + number;
    }
}
