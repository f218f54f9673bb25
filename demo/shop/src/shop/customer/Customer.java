package shop.customer;

/** Someone who buys here. */
public record Customer(int id, String name, Tier tier) {
    /** How good a customer is. */
    public enum Tier {
        REGULAR, PREMIUM
    }

    public boolean isPremium() {
        return tier == Tier.PREMIUM;
    }
}
