package shop.cart;

import shop.catalog.Product;

/** A product and how many of it. */
public record CartLine(Product product, int quantity) {
    public long cents() {
        return product.cents() * quantity;
    }

    public int grams() {
        return product.grams() * quantity;
    }

    CartLine plus(CartLine other) {
        return new CartLine(product, quantity + other.quantity);
    }
}
