package shop.pricing;

import java.util.TreeMap;
import shop.cart.CartLine;
import shop.customer.Customer;

/** The more of a product, the cheaper each. */
final class QuantityDiscount implements PriceRule {
    private final TreeMap<Integer, Integer> percentFrom = new TreeMap<>();

    QuantityDiscount() {
        percentFrom.put(1, 0);
        percentFrom.put(3, 2);
        percentFrom.put(10, 5);
    }

    @Override
    public long discount(CartLine line, Customer customer) {
        return line.cents() * percentFrom.floorEntry(line.quantity()).getValue() / 100;
    }
}
