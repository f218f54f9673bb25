package shop.payment;

import shop.customer.Customer;
import shop.loyalty.LoyaltyLedger;

/** How much a customer may owe: loyalty raises the limit of premium customers. */
public final class CreditPolicy {
    private static final long REGULAR_CENTS = 80_000;
    private static final long PREMIUM_CENTS = 150_000;
    private static final long CENTS_PER_POINT = 10;

    private final LoyaltyLedger ledger;

    public CreditPolicy(LoyaltyLedger ledger) {
        this.ledger = ledger;
    }

    public long limitFor(Customer customer) {
        if (!customer.isPremium()) {
            return REGULAR_CENTS;
        }
        return PREMIUM_CENTS + CENTS_PER_POINT * ledger.balance(customer);
    }
}
