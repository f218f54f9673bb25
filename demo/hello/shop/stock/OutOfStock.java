package shop.stock;

/** A product ordered is not there in that quantity. */
public final class OutOfStock extends Exception {
    private static final long serialVersionUID = 1L;

    OutOfStock(int product) {
        super("product " + product + " has run out");
    }
}
