package shop.order;

import shop.cart.CartLine;
import shop.store.Database;

/** What lies in the warehouse. */
public final class Stock {
    private static final int DELIVERY = 500;

    private final Database database;

    public Stock(Database database) {
        this.database = database;
    }

    void take(CartLine line) {
        int taken = database.update("UPDATE products SET stock = stock - ? WHERE id = ? AND stock >= ?",
            line.quantity(), line.product().id(), line.quantity());
        if (taken == 0) {
            throw new OutOfStock(line.product());
        }
    }

    void reorder(int product) {
        database.update("UPDATE products SET stock = stock + ? WHERE id = ?", DELIVERY, product);
    }
}
