package shop.order;

import java.util.List;
import shop.cart.CartLine;
import shop.customer.Customer;
import shop.payment.PaymentMethod;
import shop.payment.PaymentRefused;
import shop.pricing.Pricing;
import shop.pricing.Quote;
import shop.shipping.Shipping;
import shop.store.Database;

/** Turns a cart into an order that is paid. */
public final class Checkout {
    private final Database database;
    private final Pricing pricing;
    private final Stock stock;
    private final Orders orders;

    public Checkout(Database database, Pricing pricing, Stock stock, Orders orders) {
        this.database = database;
        this.pricing = pricing;
        this.stock = stock;
        this.orders = orders;
    }

    public Order place(Customer customer, List<CartLine> lines, Shipping shipping, PaymentMethod payment, String account)
        throws PaymentRefused {
        Quote quote = pricing.quote(lines, customer, shipping);
        String reference = payment.settle(customer, quote.total(), account);
        try {
            return database.inTransaction(() -> {
                lines.forEach(stock::take);
                return orders.add(customer, lines, quote.total(), payment.name(), reference);
            });
        } catch (OutOfStock e) {
            stock.reorder(e.product());
            throw e;
        }
    }
}
