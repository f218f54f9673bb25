package goods;

/** Has getters that can be overridden, and some that cannot. */
public class Item {
    static int limit;
    final int weight;
    private final int price;

    public Item(int weight, int price) {
        this.weight = weight;
        this.price = price;
    }

    public int getWeight() {
        return weight;
    }

    public final int getPrice() {
        return price;
    }
}
