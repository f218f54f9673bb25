package goods;

/** Sells. */
public class Store {
    private Item first;
    private int stock;

    public final int getStock() {
        return stock;
    }

    public boolean isFull() {
        return stock > 100;
    }

    private boolean isDear() {
        return stock * Item.limit > 100;
    }

    private int first() {
        return first.getPrice();
    }

    public int sell(Item item, Grade grade) {
        return weigh(item) + item.getPrice() * grade.value();
    }

    int weigh(Item item) {
        return item.getWeight();
    }

    public native void lock();

    public void idle() {
    }
}
