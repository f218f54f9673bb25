package tenants.service;

import tenants.store.Store;
import tenants.web.Tenant;

/**
 * What was agreed with a tenant of a product. They are found by an index on tenant and product that, because of the
 * letters' case, helps with the tenant only: all agreements of one tenant are read for each line. One has thousands.
 */
public final class Agreements {
    private final Store store;

    public Agreements(Store store) {
        this.store = store;
    }

    int percentOff(Tenant tenant, String sku) {
        return store.query("SELECT percent FROM agreements WHERE tenant = ? AND UPPER(sku) = UPPER(?)",
            row -> row.getInt(1), tenant.id(), sku).stream().findFirst().orElse(0);
    }
}
