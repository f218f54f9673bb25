package tenants.service;

import tenants.store.Store;
import tenants.web.Tenant;

/** What a tenant can buy. */
public final class Catalog implements Service {
    private static final int PAGE = 20;

    private final Store store;

    public Catalog(Store store) {
        this.store = store;
    }

    @Override
    public String answer(Tenant tenant) {
        return String.join("\n", store.query("SELECT sku, cents FROM products ORDER BY sku LIMIT ?",
            row -> row.getString(1) + " " + row.getLong(2), PAGE));
    }
}
