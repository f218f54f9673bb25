package office.dao;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/** The lines of orders in the database. */
public final class LineDao {
    private final Database database;

    public LineDao(Database database) {
        this.database = database;
    }

    public long sumOf(int order) throws SQLException {
        try (Connection connection = database.connect();
                PreparedStatement statement = connection.prepareStatement("SELECT SUM(amount) FROM lines WHERE order_id = ?")) {
            statement.setInt(1, order);
            try (ResultSet rows = statement.executeQuery()) {
                return rows.next() ? rows.getLong(1) : 0;
            }
        }
    }
}
