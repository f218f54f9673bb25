package shop.cart;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import shop.customer.Customer;

/** The carts of all customers; a cart that is taken to the till is no longer here. */
public final class Carts {
    private final Map<Integer, Cart> open = new ConcurrentHashMap<>();

    public Cart of(Customer customer) {
        return open.computeIfAbsent(customer.id(), id -> new Cart());
    }

    public Cart take(Customer customer) {
        Cart cart = open.remove(customer.id());
        return cart != null ? cart : new Cart();
    }
}
