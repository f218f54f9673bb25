package shop.pricing;

import shop.cart.CartLine;
import shop.customer.Customer;

/** A reason to pay less: answers the cents a line gets off. */
@FunctionalInterface
public interface PriceRule {
    long discount(CartLine line, Customer customer);
}
