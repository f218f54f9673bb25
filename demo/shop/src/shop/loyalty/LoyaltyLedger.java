package shop.loyalty;

import shop.customer.Customer;
import shop.order.Order;
import shop.order.Orders;

/** The points a customer has: those of the last orders, by the rules of the day each was placed. */
public final class LoyaltyLedger {
    private static final int ORDERS_THAT_COUNT = 60;

    private final Orders orders;
    private final TierRules rules;

    public LoyaltyLedger(Orders orders, TierRules rules) {
        this.orders = orders;
        this.rules = rules;
    }

    public long balance(Customer customer) {
        return orders.latestOf(customer, ORDERS_THAT_COUNT).stream()
            .mapToLong(order -> points(customer, order))
            .sum();
    }

    private long points(Customer customer, Order order) {
        return rules.pointsPercent(customer.tier(), order.placed()) * order.cents() / 10_000;
    }
}
