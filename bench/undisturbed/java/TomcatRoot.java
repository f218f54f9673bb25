import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.logging.LogManager;
import org.apache.catalina.Context;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.startup.Tomcat;
import org.apache.catalina.valves.ValveBase;

/** A Tomcat whose servlet asks a database, and a client that asks the Tomcat. */
final class TomcatRoot implements Clocked.Program {
    private final HttpClient client = HttpClient.newHttpClient();
    private final Tomcat tomcat = new Tomcat();
    private int turn;

    @SuppressWarnings("deprecation") // the replacement is not in every Tomcat 10
    TomcatRoot() throws Exception {
        LogManager.getLogManager().reset();
        Path base = Files.createTempDirectory("tomcat");
        tomcat.setBaseDir(base.toString());
        tomcat.setPort(0);
        Context context = tomcat.addContext("", base.toString());
        context.getPipeline().addValve(new Clock());
        Tomcat.addServlet(context, "orders", new Orders());
        context.addServletMappingDecoded("/orders", "orders");
        tomcat.getConnector();
        tomcat.start();
    }

    @Override
    public void call() throws Exception {
        URI uri = URI.create("http://127.0.0.1:" + tomcat.getConnector().getLocalPort() + "/orders?customer=" + turn++ % 200);
        HttpResponse<String> answer = client.send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() != 200) {
            throw new IllegalStateException(answer.body());
        }
    }

    /** Times what Tomcat calls to serve a request in a web application. */
    private static final class Clock extends ValveBase {
        @Override
        public void invoke(Request request, Response response) throws IOException, ServletException {
            long began = System.nanoTime();
            getNext().invoke(request, response);
            Clocked.add(began);
        }
    }

    private static final class Orders extends HttpServlet {
        private static final long serialVersionUID = 1;
        private final transient Connection connection;

        Orders() throws SQLException {
            connection = H2Root.connect();
        }

        @Override
        protected synchronized void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            response.setContentType("text/plain");
            for (int i = 0; i < 5; i++) {
                try (PreparedStatement statement = connection.prepareStatement("SELECT id, amount FROM orders WHERE customer = ? ORDER BY amount")) {
                    statement.setInt(1, (Integer.parseInt(request.getParameter("customer")) + i) % 200);
                    try (ResultSet rows = statement.executeQuery()) {
                        while (rows.next()) {
                            response.getWriter().println(rows.getInt(1) + " " + rows.getBigDecimal(2));
                        }
                    }
                } catch (SQLException e) {
                    throw new IOException(e);
                }
            }
        }
    }
}
