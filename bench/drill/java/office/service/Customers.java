package office.service;

import java.sql.SQLException;
import java.util.List;
import office.dao.LineDao;
import office.dao.OrderDao;

/** What is known of customers. */
public final class Customers {
    private final OrderDao orders;
    private final LineDao lines;

    public Customers(OrderDao orders, LineDao lines) {
        this.orders = orders;
        this.lines = lines;
    }

    long discount(Order order) throws SQLException {
        return turnover(order.customer()) / 1000;
    }

    /** Asks the database for the orders, and then again for each of them. */
    private long turnover(int customer) throws SQLException {
        List<Integer> earlier = orders.ofCustomer(customer);
        long sum = 0;
        for (int id : earlier) {
            sum += lines.sumOf(id);
        }
        return sum;
    }
}
