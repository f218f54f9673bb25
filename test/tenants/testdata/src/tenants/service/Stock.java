package tenants.service;

import tenants.store.Store;
import tenants.web.Tenant;

/** What lies in the warehouse for a tenant. */
public final class Stock {
    private final Store store;

    public Stock(Store store) {
        this.store = store;
    }

    long of(Tenant tenant) {
        return store.query("SELECT SUM(p.stock) FROM products p WHERE p.sku IN (SELECT sku FROM orders WHERE tenant = ?)",
            row -> row.getLong(1), tenant.id()).get(0);
    }
}
