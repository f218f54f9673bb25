package shop.customer;

import shop.NotFound;
import shop.store.Database;

/** Finds customers. */
public final class Customers {
    private final Database database;

    public Customers(Database database) {
        this.database = database;
    }

    public Customer byId(int id) {
        return database.first("SELECT id, name, tier FROM customers WHERE id = ?",
            row -> new Customer(row.getInt(1), row.getString(2), Customer.Tier.valueOf(row.getString(3))), id)
            .orElseThrow(() -> new NotFound("customer", id));
    }
}
