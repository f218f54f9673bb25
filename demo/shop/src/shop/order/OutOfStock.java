package shop.order;

import shop.catalog.Product;

/** There is not enough of a product; the next delivery has been ordered. */
public final class OutOfStock extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final int product;

    OutOfStock(Product product) {
        super("out of stock: " + product.name());
        this.product = product.id();
    }

    int product() {
        return product;
    }
}
