package driven;

/** What conditions look at. */
public final class Order {
    /** How many the loops go through. */
    public static final int COUNT = 16;

    public final String tier;
    public final int amount;

    private Order(String tier, int amount) {
        this.tier = tier;
        this.amount = amount;
    }

    /** Orders that are alike in what conditions ask for, and are objects of their own. */
    public static Order[] of(String tier, int amount) {
        Order[] all = new Order[COUNT];
        for (int i = 0; i < COUNT; i++) {
            all[i] = new Order(tier, amount + i);
        }
        return all;
    }
}
