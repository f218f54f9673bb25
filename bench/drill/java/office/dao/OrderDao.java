package office.dao;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** The orders in the database. */
public final class OrderDao {
    private final Database database;

    public OrderDao(Database database) {
        this.database = database;
    }

    public List<Integer> ofCustomer(int customer) throws SQLException {
        List<Integer> ids = new ArrayList<>();
        try (Connection connection = database.connect();
                PreparedStatement statement = connection.prepareStatement("SELECT id FROM orders WHERE customer = ?")) {
            statement.setInt(1, customer);
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    ids.add(rows.getInt(1));
                }
            }
        }
        return ids;
    }
}
