package shop.web;

import java.util.stream.Collectors;
import shop.customer.Customers;
import shop.order.Order;
import shop.order.Orders;

/** The invoice of an order, as a page to print. */
public final class InvoiceHandler implements Handler {
    private final Customers customers;
    private final Orders orders;

    record Form(int order) {
    }

    public InvoiceHandler(Customers customers, Orders orders) {
        this.customers = customers;
        this.orders = orders;
    }

    @Override
    public Reply handle(Request request) {
        Order order = orders.byId(request.as(Form.class).order());
        String lines = orders.linesOf(order).stream().map(InvoiceHandler::row)
            .collect(Collectors.joining("", "<table>\n", "</table>\n"));
        return Reply.page("Invoice " + order.id(), "<p>" + Reply.escape(customers.byId(order.customer()).name()) + ", "
            + order.placed() + ", " + Reply.escape(order.reference()) + "</p>\n" + lines + "<p>Total "
            + Reply.money(order.cents()) + "</p>\n");
    }

    private static String row(Order.Line line) {
        return "<tr><td>" + line.quantity() + "</td><td>" + Reply.escape(line.product()) + "</td><td>"
            + Reply.money(line.cents()) + "</td></tr>\n";
    }
}
