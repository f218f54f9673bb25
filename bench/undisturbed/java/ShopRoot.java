import java.time.LocalDate;
import java.util.List;
import shop.cart.CartLine;
import shop.catalog.Catalog;
import shop.customer.Customers;
import shop.loyalty.LoyaltyLedger;
import shop.loyalty.TierRepository;
import shop.loyalty.TierRules;
import shop.order.Checkout;
import shop.order.Order;
import shop.order.Orders;
import shop.order.OutOfStock;
import shop.order.Stock;
import shop.payment.CardPayment;
import shop.payment.CreditPolicy;
import shop.payment.InvoicePayment;
import shop.payment.PaymentMethod;
import shop.pricing.Pricing;
import shop.shipping.Shipping;
import shop.store.Database;
import shop.store.Schema;
import shop.store.Seed;

/** Checkouts of the demo's shop. Each order is forgotten, so that none is slower for the orders before it. */
final class ShopRoot implements Clocked.Program {
    private final Database database = new Database(2);
    private final Customers customers;
    private final Catalog catalog;
    private final Checkout checkout;
    private final List<PaymentMethod> payments;
    private int turn;

    ShopRoot() throws Exception {
        Schema.create(database);
        new Seed(database, LocalDate.now()).fill();
        customers = new Customers(database);
        catalog = new Catalog(database);
        Orders orders = new Orders(database);
        payments = List.of(new CardPayment(), new InvoicePayment(new CreditPolicy(
                new LoyaltyLedger(orders, new TierRules(new TierRepository(database))))));
        checkout = new Checkout(database, new Pricing(), new Stock(database), orders);
    }

    @Override
    public void call() throws Exception {
        int number = turn++;
        var customer = customers.byId(1 + number % 200);
        var lines = List.of(new CartLine(catalog.byId(1 + number * 31 % 400), 1));
        var payment = payments.get(number / 4 % 2);
        Order order = null;
        long began = System.nanoTime();
        try {
            order = checkout.place(customer, lines, Shipping.named("parcel"), payment, "4000001234567899");
        } catch (OutOfStock e) {
            // The shop has ordered it.
        }
        Clocked.add(began);
        if (order != null) {
            database.update("DELETE FROM order_lines WHERE order_id = ?", order.id());
            database.update("DELETE FROM orders WHERE id = ?", order.id());
        }
    }
}
