package orders;

import jakarta.servlet.ServletException;
import jakarta.servlet.annotation.WebServlet;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import javax.naming.InitialContext;
import javax.naming.NamingException;
import javax.sql.DataSource;

/** Shows the orders of a customer, or counts all of them, which takes a while. */
@WebServlet("/orders")
public final class Orders extends HttpServlet {
    private static final long serialVersionUID = 1;
    private transient DataSource source;

    @Override
    public void init() throws ServletException {
        try {
            source = (DataSource) new InitialContext().lookup("java:comp/env/jdbc/orders");
            try (Connection connection = source.getConnection(); Statement statement = connection.createStatement()) {
                statement.execute("CREATE ALIAS PAUSE FOR 'java.lang.Thread.sleep(long)'");
                statement.execute("CREATE TABLE orders(id INT PRIMARY KEY, customer INT) AS SELECT x, MOD(x, 100) FROM SYSTEM_RANGE(1, 2000)");
                statement.execute("CREATE INDEX orders_customer ON orders(customer)");
            }
        } catch (NamingException | SQLException e) {
            throw new ServletException(e);
        }
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        response.setContentType("text/plain");
        try {
            if (request.getParameter("report") != null) {
                report();
            }
            response.getWriter().println(ofCustomer(Integer.parseInt(request.getParameter("customer"))));
        } catch (SQLException e) {
            throw new IOException(e);
        }
    }

    private int ofCustomer(int customer) throws SQLException {
        try (Connection connection = source.getConnection();
                PreparedStatement statement = connection.prepareStatement("SELECT id FROM orders WHERE customer = ?")) {
            statement.setInt(1, customer);
            int n = 0;
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    n++;
                }
            }
            return n;
        }
    }

    private void report() throws SQLException {
        try (Connection connection = source.getConnection(); Statement statement = connection.createStatement()) {
            statement.execute("CALL PAUSE(40)");
        }
    }
}
