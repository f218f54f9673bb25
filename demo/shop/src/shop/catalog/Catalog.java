package shop.catalog;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import shop.NotFound;
import shop.store.Database;

/** Finds products. */
public final class Catalog {
    private static final String COLUMNS = "SELECT id, name, category, cents, grams, stock FROM products ";
    private static final int HITS = 20;

    private final Database database;

    public Catalog(Database database) {
        this.database = database;
    }

    public List<String> categories() {
        return database.query("SELECT DISTINCT category FROM products ORDER BY category", row -> row.getString(1));
    }

    public List<Product> inCategory(String category) {
        return database.query(COLUMNS + "WHERE category = ? ORDER BY id LIMIT ?", Catalog::product, category, HITS);
    }

    public List<Product> search(String words) {
        String pattern = "%" + words.toLowerCase(Locale.ROOT).replace("%", "").replace("_", "") + "%";
        return database.query(COLUMNS + "WHERE LOWER(name) LIKE ? ORDER BY cents LIMIT ?", Catalog::product, pattern,
            HITS);
    }

    public Product byId(int id) {
        return database.first(COLUMNS + "WHERE id = ?", Catalog::product, id)
            .orElseThrow(() -> new NotFound("product", id));
    }

    private static Product product(ResultSet row) throws SQLException {
        return new Product(row.getInt(1), row.getString(2), row.getString(3), row.getLong(4), row.getInt(5),
            row.getInt(6));
    }
}
