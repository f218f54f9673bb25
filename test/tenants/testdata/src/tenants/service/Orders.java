package tenants.service;

import java.util.List;
import tenants.store.Store;
import tenants.web.Tenant;

/** What a tenant has ordered. */
public final class Orders implements Service {
    private final Store store;

    /** A line of an order. */
    record Line(String sku, int quantity, long cents) {
    }

    public Orders(Store store) {
        this.store = store;
    }

    @Override
    public String answer(Tenant tenant) {
        return "lines " + linesOf(tenant).size();
    }

    List<Line> linesOf(Tenant tenant) {
        return store.query("SELECT o.sku, o.quantity, p.cents FROM orders o JOIN products p ON p.sku = o.sku"
            + " WHERE o.tenant = ? ORDER BY o.id", row -> new Line(row.getString(1), row.getInt(2), row.getLong(3)),
            tenant.id());
    }
}
