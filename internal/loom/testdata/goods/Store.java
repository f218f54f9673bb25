package goods;

/** Sells. */
public class Store {
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
