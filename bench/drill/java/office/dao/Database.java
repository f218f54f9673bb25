package office.dao;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import org.apache.tomcat.dbcp.dbcp2.BasicDataSource;

/** A database in memory, with orders and their lines. */
public final class Database {
    private static final int CUSTOMERS = 100;
    private final BasicDataSource pool = new BasicDataSource();

    /** Every tenth customer has the most orders, the others 4. */
    public Database(int connections, int mostOrders) throws SQLException {
        pool.setUrl("jdbc:h2:mem:office;DB_CLOSE_DELAY=-1");
        pool.setMaxTotal(connections);
        pool.setMaxIdle(connections);
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            statement.execute("CREATE ALIAS PAUSE FOR 'java.lang.Thread.sleep(long)'");
            statement.execute("CREATE TABLE orders(id INT PRIMARY KEY, customer INT)");
            statement.execute("CREATE TABLE lines(id INT PRIMARY KEY, order_id INT, amount INT)");
            statement.execute("CREATE INDEX orders_customer ON orders(customer)");
            statement.execute("CREATE INDEX lines_order ON lines(order_id)");
            int id = 0;
            for (int customer = 0; customer < CUSTOMERS; customer++) {
                for (int i = 0; i < (customer % 10 == 0 ? mostOrders : 4); i++) {
                    add(connection, ++id, customer);
                }
            }
        }
    }

    private static void add(Connection connection, int id, int customer) throws SQLException {
        try (PreparedStatement order = connection.prepareStatement("INSERT INTO orders VALUES(?, ?)");
                PreparedStatement line = connection.prepareStatement("INSERT INTO lines VALUES(?, ?, ?)")) {
            order.setInt(1, id);
            order.setInt(2, customer);
            order.execute();
            for (int i = 0; i < 3; i++) {
                line.setInt(1, id * 3 + i);
                line.setInt(2, id);
                line.setInt(3, 100 + i);
                line.execute();
            }
        }
    }

    public Connection connect() throws SQLException {
        return pool.getConnection();
    }
}
