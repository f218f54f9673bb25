package stock;

import jakarta.servlet.ServletContextEvent;
import jakarta.servlet.ServletContextListener;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/** A database in memory that is filled when the application starts, and what the page asks of it. */
public final class Shelf implements ServletContextListener {
    private static final String URL = "jdbc:h2:mem:stock";
    private static final int PRODUCTS = 200;
    private static final int KINDS = 7;

    private Connection connection;

    @Override
    public void contextInitialized(ServletContextEvent event) {
        try {
            new org.h2.Driver(); // by name: drivers of an application are not found by themselves
            connection = DriverManager.getConnection(URL);
            fill();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
        event.getServletContext().setAttribute("shelf", this);
    }

    @Override
    public void contextDestroyed(ServletContextEvent event) {
        try {
            connection.close();
        } catch (SQLException e) {
            // it goes with the program
        }
    }

    private void fill() throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE kinds (id INT PRIMARY KEY, name VARCHAR)");
            statement.execute("CREATE TABLE products (id INT PRIMARY KEY, kind INT REFERENCES kinds, cents BIGINT)");
            statement.execute("CREATE INDEX products_of ON products (kind, cents)");
        }
        try (PreparedStatement kind = connection.prepareStatement("INSERT INTO kinds VALUES (?, ?)");
                PreparedStatement product = connection.prepareStatement("INSERT INTO products VALUES (?, ?, ?)")) {
            for (int i = 0; i < KINDS; i++) {
                kind.setInt(1, i);
                kind.setString(2, "kind " + i);
                kind.executeUpdate();
            }
            for (int i = 0; i < PRODUCTS; i++) {
                product.setInt(1, i);
                product.setInt(2, i % KINDS);
                product.setLong(3, 100 + i * 7L);
                product.executeUpdate();
            }
        }
    }

    /** A line for each kind: its name, how many products there are of it, and what all of them cost. */
    public List<String> kinds() throws SQLException {
        List<String> lines = new ArrayList<>();
        try (PreparedStatement query = connection.prepareStatement("SELECT k.name, COUNT(*), SUM(p.cents) FROM kinds k"
                + " JOIN products p ON p.kind = k.id WHERE p.cents > ? GROUP BY k.name ORDER BY k.name")) {
            query.setLong(1, 99);
            try (ResultSet row = query.executeQuery()) {
                while (row.next()) {
                    lines.add(row.getString(1) + ": " + row.getInt(2) + " for " + row.getLong(3));
                }
            }
        }
        return lines;
    }
}
