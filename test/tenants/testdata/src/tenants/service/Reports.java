package tenants.service;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import tenants.web.Tenant;

/** What a month's orders come to, and what of it is in stock; the latter is found by another thread meanwhile. */
public final class Reports implements Service {
    private final Orders orders;
    private final Pricing pricing;
    private final Stock stock;
    private final Executor helpers;

    public Reports(Orders orders, Pricing pricing, Stock stock, Executor helpers) {
        this.orders = orders;
        this.pricing = pricing;
        this.stock = stock;
        this.helpers = helpers;
    }

    @Override
    public String answer(Tenant tenant) {
        CompletableFuture<Long> inStock = CompletableFuture.supplyAsync(() -> stock.of(tenant), helpers);
        long cents = 0;
        for (Orders.Line line : orders.linesOf(tenant)) {
            cents += pricing.price(tenant, line);
        }
        return "cents " + cents + " in stock " + inStock.join();
    }
}
