package shop;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** Makes the tables. */
final class Database {
    private static final int ROWS = 100;

    private Database() {
    }

    static void create(String url) throws SQLException {
        try (Connection c = DriverManager.getConnection(url); Statement s = c.createStatement()) {
            s.execute("CREATE TABLE orders (id INT PRIMARY KEY, customer VARCHAR(40))");
            s.execute("CREATE TABLE items (id INT PRIMARY KEY, name VARCHAR(40))");
            s.execute("CREATE TABLE visits (customer VARCHAR(40))");
            for (String table : new String[] {"orders", "items"}) {
                try (PreparedStatement insert = c.prepareStatement("INSERT INTO " + table + " VALUES (?, ?)")) {
                    for (int i = 0; i < ROWS; i++) {
                        insert.setInt(1, i);
                        insert.setString(2, "name " + i);
                        insert.executeUpdate();
                    }
                }
            }
        }
    }

    /** Reads one text. */
    static String only(PreparedStatement s) throws SQLException {
        try (ResultSet found = s.executeQuery()) {
            return found.next() ? found.getString(1) : "";
        }
    }
}
