package shop.pricing;

/** Knows what a product costs, and who pays less. */
public final class PriceBook {
    private static final int[] REBATE_PERCENT = {0, 0, 2, 5, 10};

    private final int[] cents;

    public PriceBook(int products) {
        cents = new int[products];
        for (int i = 0; i < products; i++) {
            cents[i] = 99 + (i * 7919) % 10_000;
        }
    }

    public long price(int product, int quantity) {
        return (long) cents[product] * quantity;
    }

    /** The rebate in cents; finding a customer's tier is dear, on purpose. */
    public long discount(String customer, long total) {
        return total * REBATE_PERCENT[tier(customer)] / 100;
    }

    private int tier(String customer) {
        int hash = 17;
        for (int round = 0; round < 200; round++) {
            for (int i = 0; i < customer.length(); i++) {
                hash = hash * 31 + customer.charAt(i);
            }
        }
        return Math.floorMod(hash, REBATE_PERCENT.length);
    }
}
