import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.atomic.AtomicLong;

/** SQL in a database of its own, in memory: every query is ordered, nothing asks for the time. */
final class H2Work implements RealProgram.Work {
    private static final AtomicLong PREPARED = RealProgram.counter("org/h2/jdbc/JdbcConnection.prepareStatement(Ljava/lang/String;)Ljava/sql/PreparedStatement;");
    private static final AtomicLong QUERIES = RealProgram.counter("org/h2/jdbc/JdbcPreparedStatement.executeQuery()Ljava/sql/ResultSet;");
    private static final AtomicLong UPDATES = RealProgram.counter("org/h2/jdbc/JdbcPreparedStatement.executeUpdate()I");
    private static final AtomicLong NEXT = RealProgram.counter("org/h2/jdbc/JdbcResultSet.next()Z");
    private static final AtomicLong ROLLBACKS = RealProgram.counter("org/h2/jdbc/JdbcConnection.rollback()V");
    private static final AtomicLong FAILED = RealProgram.counter("threw org/h2/jdbc/JdbcPreparedStatement.executeUpdate()I");

    private final Connection connection;

    H2Work() throws SQLException {
        connection = DriverManager.getConnection("jdbc:h2:mem:", "sa", "");
    }

    @Override
    public String round() throws SQLException {
        StringBuilder text = new StringBuilder();
        try (Statement all = connection.createStatement()) {
            all.execute("DROP ALL OBJECTS");
            all.execute("CREATE TABLE customer(id INT PRIMARY KEY, name VARCHAR(40) NOT NULL, tier VARCHAR(10), born DATE)");
            all.execute("CREATE TABLE orders(id INT PRIMARY KEY, customer INT REFERENCES customer(id) ON DELETE CASCADE,"
                    + " amount DECIMAL(12,2) CHECK (amount > 0), placed TIMESTAMP, note CLOB, raw VARBINARY(100))");
            all.execute("CREATE INDEX by_amount ON orders(amount DESC)");
            all.execute("CREATE SEQUENCE ticket START WITH 100 INCREMENT BY 7");
            all.execute("CREATE VIEW spending AS SELECT c.id, c.name, SUM(o.amount) AS total"
                    + " FROM customer c JOIN orders o ON o.customer = c.id GROUP BY c.id, c.name");
        }
        for (int i = 0; i < 40; i++) {
            update(text, "INSERT INTO customer VALUES (?, ?, ?, DATEADD(DAY, ?, DATE '1970-01-01'))", i, "customer " + i * 7919 % 1000,
                    i % 3 == 0 ? null : "tier" + i % 3, i * 37);
        }
        for (int i = 0; i < 100; i++) {
            update(text, "INSERT INTO orders VALUES (?, ?, ?, DATEADD(MINUTE, ?, TIMESTAMP '2024-01-01 00:00:00'), REPEAT('n', ?), X'00ff')",
                    i, i * 31 % 40, 1 + i * 7919 % 997, i * 61, i % 9);
        }
        for (int i = 0; i < 6; i++) {
            query(text, "SELECT id, name, total FROM spending WHERE total > ? ORDER BY total DESC, id LIMIT 5", i * 100);
            query(text, "SELECT tier, COUNT(*), AVG(amount), MAX(LENGTH(note)) FROM customer c LEFT JOIN orders o ON o.customer = c.id"
                    + " AND MOD(o.id, ?) = 0 GROUP BY tier ORDER BY tier NULLS LAST", 1 + i);
            query(text, "SELECT id, amount, RANK() OVER (PARTITION BY customer ORDER BY amount DESC, id) AS r FROM orders"
                    + " WHERE customer = ? ORDER BY r, id", i);
            query(text, "SELECT NEXT VALUE FOR ticket, UPPER(SUBSTRING(name, 3, 5)), EXTRACT(YEAR FROM born), RAWTOHEX(HASH('SHA-256', name))"
                    + " FROM customer WHERE id = ?", i);
            query(text, "WITH RECURSIVE f(n, a, b) AS (SELECT 1, CAST(0 AS BIGINT), CAST(1 AS BIGINT) UNION ALL"
                    + " SELECT n + 1, b, a + b FROM f WHERE n < ?) SELECT MAX(n), MAX(a) FROM f", 10 + i);
            update(text, "UPDATE orders SET amount = amount * 1.01, note = CONCAT(note, 'u') WHERE id BETWEEN ? AND ?", i, i + 5);
            update(text, "INSERT INTO orders(id, customer, amount) VALUES (?, 1, -5)", 1000 + i);
            update(text, "INSERT INTO customer VALUES (?, 'again', NULL, NULL)", i);
            update(text, "UPDATE customer SET id = ? / (id - id)", i);
        }
        connection.setAutoCommit(false);
        update(text, "DELETE FROM customer WHERE tier = ?", "tier1");
        query(text, "SELECT COUNT(*) FROM orders WHERE id >= ?", 0);
        ROLLBACKS.incrementAndGet();
        connection.rollback();
        connection.setAutoCommit(true);
        query(text, "SELECT COUNT(*), SUM(amount), MAX(placed) FROM orders WHERE id >= ?", 0);
        return text.toString();
    }

    private void query(StringBuilder text, String sql, Object... arguments) throws SQLException {
        try (PreparedStatement statement = prepare(sql, arguments)) {
            QUERIES.incrementAndGet();
            try (ResultSet rows = statement.executeQuery()) {
                int columns = rows.getMetaData().getColumnCount();
                NEXT.incrementAndGet();
                while (rows.next()) {
                    for (int i = 1; i <= columns; i++) {
                        text.append(rows.getString(i)).append('\t');
                    }
                    text.append('\n');
                    NEXT.incrementAndGet();
                }
            }
        }
    }

    private void update(StringBuilder text, String sql, Object... arguments) throws SQLException {
        try (PreparedStatement statement = prepare(sql, arguments)) {
            UPDATES.incrementAndGet();
            text.append(statement.executeUpdate()).append('\n');
        } catch (SQLException e) {
            FAILED.incrementAndGet();
            text.append(e.getSQLState()).append(' ').append(e.getMessage().replace('\n', ' ')).append('\n');
        }
    }

    private PreparedStatement prepare(String sql, Object... arguments) throws SQLException {
        PREPARED.incrementAndGet();
        PreparedStatement statement = connection.prepareStatement(sql);
        for (int i = 0; i < arguments.length; i++) {
            statement.setObject(i + 1, arguments[i]);
        }
        return statement;
    }
}
