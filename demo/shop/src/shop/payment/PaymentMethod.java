package shop.payment;

import shop.customer.Customer;

/** A way to pay. */
public interface PaymentMethod {
    String name();

    /** Answers the reference of the payment, or throws when it is refused. */
    String settle(Customer customer, long cents, String account) throws PaymentRefused;
}
