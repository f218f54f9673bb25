package shop.order;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.LocalDate;
import java.util.List;
import java.util.stream.IntStream;
import shop.NotFound;
import shop.cart.CartLine;
import shop.customer.Customer;
import shop.store.Database;

/** Keeps orders and finds them again. */
public final class Orders {
    private static final String COLUMNS = "SELECT id, customer, placed, cents, payment, reference FROM orders ";

    private final Database database;

    public Orders(Database database) {
        this.database = database;
    }

    public Order byId(long id) {
        return database.first(COLUMNS + "WHERE id = ?", Orders::order, id)
            .orElseThrow(() -> new NotFound("order", id));
    }

    public List<Order> latestOf(Customer customer, int most) {
        return database.query(COLUMNS + "WHERE customer = ? ORDER BY customer DESC, id DESC LIMIT ?", Orders::order,
            customer.id(), most);
    }

    public List<Order.Line> linesOf(Order order) {
        return database.query("SELECT p.name, l.quantity, l.cents FROM order_lines l JOIN products p ON p.id = l.product"
            + " WHERE l.order_id = ? ORDER BY l.line",
            row -> new Order.Line(row.getString(1), row.getInt(2), row.getLong(3)), order.id());
    }

    Order add(Customer customer, List<CartLine> lines, long cents, String payment, String reference) {
        LocalDate today = LocalDate.now();
        long id = database.insert("INSERT INTO orders (customer, placed, cents, payment, reference)"
            + " VALUES (?, ?, ?, ?, ?)", customer.id(), today, cents, payment, reference);
        database.batch("INSERT INTO order_lines VALUES (?, ?, ?, ?, ?)", IntStream.range(0, lines.size())
            .mapToObj(i -> row(id, i + 1, lines.get(i))));
        return new Order(id, customer.id(), today, cents, payment, reference);
    }

    private static Object[] row(long order, int number, CartLine line) {
        return new Object[] {order, number, line.product().id(), line.quantity(), line.cents()};
    }

    private static Order order(ResultSet row) throws SQLException {
        return new Order(row.getLong(1), row.getInt(2), row.getObject(3, LocalDate.class), row.getLong(4),
            row.getString(5), row.getString(6));
    }
}
