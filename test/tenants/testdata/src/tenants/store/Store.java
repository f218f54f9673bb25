package tenants.store;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/** A database in memory, and the connections to it. */
public final class Store implements AutoCloseable {
    private static final String URL = "jdbc:h2:mem:tenants";

    private final BlockingQueue<Connection> idle;

    /** Makes a value of the row a result is at. */
    @FunctionalInterface
    public interface Rows<T> {
        T value(ResultSet row) throws SQLException;
    }

    public Store(int connections) throws SQLException {
        // By name: drivers of an application are not found by themselves.
        new org.h2.Driver();
        idle = new ArrayBlockingQueue<>(connections);
        for (int i = 0; i < connections; i++) {
            idle.add(DriverManager.getConnection(URL));
        }
    }

    public <T> List<T> query(String sql, Rows<T> rows, Object... values) {
        Connection connection = take();
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            bind(statement, values);
            return read(statement, rows);
        } catch (SQLException e) {
            throw new IllegalStateException(sql, e);
        } finally {
            idle.add(connection);
        }
    }

    void update(String sql, Object... values) {
        Connection connection = take();
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            bind(statement, values);
            statement.executeUpdate();
        } catch (SQLException e) {
            throw new IllegalStateException(sql, e);
        } finally {
            idle.add(connection);
        }
    }

    private Connection take() {
        try {
            return idle.take();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void bind(PreparedStatement statement, Object... values) throws SQLException {
        for (int i = 0; i < values.length; i++) {
            statement.setObject(i + 1, values[i]);
        }
    }

    private static <T> List<T> read(PreparedStatement statement, Rows<T> rows) throws SQLException {
        List<T> found = new ArrayList<>();
        try (ResultSet result = statement.executeQuery()) {
            while (result.next()) {
                found.add(rows.value(result));
            }
        }
        return found;
    }

    @Override
    public void close() {
        for (Connection connection : idle) {
            try {
                connection.close();
            } catch (SQLException e) {
                // it goes with the program
            }
        }
    }
}
