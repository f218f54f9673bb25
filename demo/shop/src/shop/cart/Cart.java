package shop.cart;

import java.util.List;
import java.util.TreeMap;
import shop.catalog.Product;

/** What one customer has chosen, in the order of product numbers. */
public final class Cart {
    private final TreeMap<Integer, CartLine> lines = new TreeMap<>();

    public synchronized void add(Product product, int quantity) {
        lines.merge(product.id(), new CartLine(product, quantity), CartLine::plus);
    }

    public synchronized List<CartLine> lines() {
        return List.copyOf(lines.values());
    }
}
