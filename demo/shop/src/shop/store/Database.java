package shop.store;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** The embedded database: a few connections, plain SQL, and a count of its statements. */
public final class Database {
    private static final String URL = "jdbc:h2:mem:shop;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=10000";

    private final BlockingQueue<Connection> idle;
    private final ThreadLocal<Connection> transaction = new ThreadLocal<>();
    private final LongAdder statements = new LongAdder();

    /** What to do with a prepared statement. */
    @FunctionalInterface
    private interface Work<T> {
        T on(PreparedStatement statement) throws SQLException;
    }

    public Database(int connections) throws SQLException {
        idle = new ArrayBlockingQueue<>(connections);
        for (int i = 0; i < connections; i++) {
            idle.add(DriverManager.getConnection(URL));
        }
    }

    public <T> List<T> query(String sql, RowMapper<T> mapper, Object... arguments) {
        return prepared(sql, statement -> {
            bind(statement, arguments);
            List<T> rows = new ArrayList<>();
            try (ResultSet result = statement.executeQuery()) {
                while (result.next()) {
                    rows.add(mapper.map(result));
                }
            }
            return rows;
        });
    }

    public <T> Optional<T> first(String sql, RowMapper<T> mapper, Object... arguments) {
        return query(sql, mapper, arguments).stream().findFirst();
    }

    /** Answers how many rows were changed. */
    public int update(String sql, Object... arguments) {
        return prepared(sql, statement -> {
            bind(statement, arguments);
            return statement.executeUpdate();
        });
    }

    /** Answers the key the database gave to the new row. */
    public long insert(String sql, Object... arguments) {
        return prepared(sql, statement -> {
            bind(statement, arguments);
            statement.executeUpdate();
            try (ResultSet keys = statement.getGeneratedKeys()) {
                keys.next();
                return keys.getLong(1);
            }
        });
    }

    /** Runs one statement for many rows at once. */
    public void batch(String sql, Stream<Object[]> rows) {
        prepared(sql, statement -> {
            for (Object[] row : (Iterable<Object[]>) rows::iterator) {
                bind(statement, row);
                statement.addBatch();
            }
            return statement.executeBatch();
        });
    }

    /** Runs the work in one transaction, which is rolled back if the work throws. */
    public <T> T inTransaction(Supplier<T> work) {
        Connection connection = take();
        transaction.set(connection);
        try {
            connection.setAutoCommit(false);
            boolean done = false;
            try {
                T result = work.get();
                connection.commit();
                done = true;
                return result;
            } finally {
                if (!done) {
                    connection.rollback();
                }
                connection.setAutoCommit(true);
            }
        } catch (SQLException e) {
            throw new StoreException("transaction", e);
        } finally {
            transaction.remove();
            idle.add(connection);
        }
    }

    /** How many statements were executed so far. */
    public long statements() {
        return statements.sum();
    }

    private <T> T prepared(String sql, Work<T> work) {
        Connection joined = transaction.get();
        Connection connection = joined != null ? joined : take();
        statements.increment();
        try (PreparedStatement statement = connection.prepareStatement(sql, Statement.RETURN_GENERATED_KEYS)) {
            return work.on(statement);
        } catch (SQLException e) {
            throw new StoreException(sql, e);
        } finally {
            if (joined == null) {
                idle.add(connection);
            }
        }
    }

    private Connection take() {
        try {
            return idle.take();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new StoreException("connection", e);
        }
    }

    private static void bind(PreparedStatement statement, Object... arguments) throws SQLException {
        for (int i = 0; i < arguments.length; i++) {
            statement.setObject(i + 1, arguments[i]);
        }
    }
}
