package shop.loyalty;

import java.time.LocalDate;
import shop.customer.Customer.Tier;

/** What a tier is worth on a day. */
public final class TierRules {
    private static final int WITHOUT_RULE = 1;
    private static final int MOST = 10;

    private final TierRepository repository;

    public TierRules(TierRepository repository) {
        this.repository = repository;
    }

    public int pointsPercent(Tier tier, LocalDate day) {
        int percent = repository.percentInForce(tier, day).orElse(WITHOUT_RULE);
        return Math.min(percent, MOST);
    }
}
