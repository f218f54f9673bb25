package shop.web;

import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import shop.cart.CartLine;
import shop.cart.Carts;
import shop.customer.Customer;
import shop.customer.Customers;
import shop.order.Checkout;
import shop.payment.PaymentMethod;
import shop.payment.PaymentRefused;
import shop.shipping.Shipping;

/** Takes the customer's cart to the till. */
public final class CheckoutHandler implements Handler {
    private final Customers customers;
    private final Carts carts;
    private final Checkout checkout;
    private final Map<String, PaymentMethod> payments;

    record Form(int customer, String payment, String account, String shipping) {
    }

    public CheckoutHandler(Customers customers, Carts carts, Checkout checkout, List<PaymentMethod> payments) {
        this.customers = customers;
        this.carts = carts;
        this.checkout = checkout;
        this.payments = payments.stream().collect(Collectors.toMap(PaymentMethod::name, Function.identity()));
    }

    @Override
    public Reply handle(Request request) throws PaymentRefused {
        Form form = request.as(Form.class);
        PaymentMethod payment = known(payments.get(form.payment()), "payment");
        Shipping shipping = known(Shipping.named(form.shipping()), "shipping");
        Customer customer = customers.byId(form.customer());
        List<CartLine> lines = carts.take(customer).lines();
        if (lines.isEmpty()) {
            throw new BadRequest("the cart is empty");
        }
        return Reply.json(201, checkout.place(customer, lines, shipping, payment, form.account()));
    }

    private static <T> T known(T choice, String what) {
        if (choice == null) {
            throw new BadRequest("no such " + what);
        }
        return choice;
    }
}
