package tenants.service;

import tenants.web.Tenant;

/** What a line costs a tenant. */
public final class Pricing {
    private final Agreements agreements;

    public Pricing(Agreements agreements) {
        this.agreements = agreements;
    }

    long price(Tenant tenant, Orders.Line line) {
        long full = line.quantity() * line.cents();
        return full - full * agreements.percentOff(tenant, line.sku()) / 100;
    }
}
