package shop.web;

import shop.customer.Customers;
import shop.order.Orders;

/** The last orders of a customer. */
public final class HistoryHandler implements Handler {
    private static final int SHOWN = 20;

    private final Customers customers;
    private final Orders orders;

    record Form(int customer) {
    }

    public HistoryHandler(Customers customers, Orders orders) {
        this.customers = customers;
        this.orders = orders;
    }

    @Override
    public Reply handle(Request request) {
        return Reply.json(200, orders.latestOf(customers.byId(request.as(Form.class).customer()), SHOWN));
    }
}
