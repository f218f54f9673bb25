import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** Queries of a database in memory that only ever reads. */
final class H2Root implements Clocked.Program {
    private final PreparedStatement statement;
    private int turn;

    H2Root() throws SQLException {
        statement = connect().prepareStatement("SELECT c.name, COUNT(*), SUM(o.amount) FROM customer c JOIN orders o ON o.customer = c.id"
                + " WHERE o.amount > ? AND c.name LIKE '%1%' GROUP BY c.name ORDER BY 3 DESC LIMIT 10");
    }

    static Connection connect() throws SQLException {
        Connection connection = DriverManager.getConnection("jdbc:h2:mem:", "sa", "");
        try (Statement all = connection.createStatement()) {
            all.execute("CREATE TABLE customer(id INT PRIMARY KEY, name VARCHAR(40))");
            all.execute("CREATE TABLE orders(id INT PRIMARY KEY, customer INT, amount DECIMAL(12,2))");
            all.execute("INSERT INTO customer SELECT x, 'customer ' || MOD(x * 7919, 1000) FROM SYSTEM_RANGE(0, 199)");
            all.execute("INSERT INTO orders SELECT x, MOD(x * 31, 200), MOD(x * 7919, 997) FROM SYSTEM_RANGE(0, 1999)");
        }
        return connection;
    }

    @Override
    public void call() throws SQLException {
        statement.setInt(1, turn++ % 100);
        long began = System.nanoTime();
        ResultSet rows = statement.executeQuery();
        Clocked.add(began);
        rows.close();
    }
}
