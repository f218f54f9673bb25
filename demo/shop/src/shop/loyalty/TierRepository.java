package shop.loyalty;

import java.time.LocalDate;
import java.util.Optional;
import shop.customer.Customer.Tier;
import shop.store.Database;

/** Reads the rules that marketing keeps in the database. */
public final class TierRepository {
    private final Database database;

    public TierRepository(Database database) {
        this.database = database;
    }

    Optional<Integer> percentInForce(Tier tier, LocalDate day) {
        return database.first("SELECT points_percent FROM tier_rules WHERE tier = ? AND valid_from <= ?"
            + " ORDER BY valid_from DESC LIMIT 1", row -> row.getInt(1), tier.name(), day);
    }
}
