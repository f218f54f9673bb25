package shop.stock;

import java.util.Arrays;

/** Counts what is on the shelves. */
public final class Warehouse {
    private final int[] shelves;

    public Warehouse(int products, int each) {
        shelves = new int[products];
        Arrays.fill(shelves, each);
    }

    public synchronized void take(int product, int quantity) throws OutOfStock {
        if (shelves[product] < quantity) {
            throw new OutOfStock(product);
        }
        shelves[product] -= quantity;
    }

    public synchronized void putBack(int product, int quantity) {
        shelves[product] += quantity;
    }
}
