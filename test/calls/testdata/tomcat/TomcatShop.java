package shop;

import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.File;
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;
import org.apache.catalina.valves.AccessLogValve;

/** A shop of servlets, with a connection for each thread. Arguments: the URL of the database, and a folder for the access log. */
public final class TomcatShop {
    private static final int MOST_LINES = 3;

    private TomcatShop() {
    }

    public static void main(String[] args) throws Exception {
        Database.create(args[0]);
        ThreadLocal<Connection> connections = ThreadLocal.withInitial(() -> {
            try {
                return DriverManager.getConnection(args[0]);
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
        });
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(args[1]);
        tomcat.setPort(0);
        Context context = tomcat.addContext("", new File(args[1]).getAbsolutePath());
        AccessLogValve log = new AccessLogValve();
        log.setDirectory(args[1]);
        log.setPrefix("access");
        log.setSuffix(".log");
        log.setRotatable(false);
        log.setBuffered(false);
        log.setPattern("%m %U %s");
        context.getPipeline().addValve(log);
        Tomcat.addServlet(context, "shop", new HttpServlet() {
            @Override
            protected void doGet(HttpServletRequest request, HttpServletResponse response) throws ServletException, IOException {
                String[] parts = request.getRequestURI().split("/");
                try {
                    response.getWriter().println(parts[1].equals("orders") ? order(connections.get(), Integer.parseInt(parts[2]))
                            : item(connections.get(), Integer.parseInt(parts[2])));
                } catch (SQLException e) {
                    throw new ServletException(e);
                }
            }

            @Override
            protected void doPost(HttpServletRequest request, HttpServletResponse response) throws ServletException {
                try (PreparedStatement s = connections.get().prepareStatement("INSERT INTO visits (customer) VALUES (?)")) {
                    s.setString(1, "hunter2");
                    s.executeUpdate();
                } catch (SQLException e) {
                    throw new ServletException(e);
                }
            }
        });
        context.addServletMappingDecoded("/*", "shop");
        tomcat.start();
        System.out.println("listening " + tomcat.getConnector().getLocalPort());
        System.out.println("ready");
        while (System.in.read() >= 0) {
            continue;
        }
        System.exit(0);
    }

    /** Asks for an order, and then for each of its items. */
    private static String order(Connection c, int id) throws SQLException {
        StringBuilder text = new StringBuilder();
        try (PreparedStatement s = c.prepareStatement("SELECT customer FROM orders WHERE id = ?")) {
            s.setInt(1, id);
            text.append(Database.only(s));
        }
        for (int i = 0; i <= id % MOST_LINES; i++) {
            try (PreparedStatement s = c.prepareStatement("SELECT name FROM items WHERE id = ?")) {
                s.setInt(1, i);
                text.append(Database.only(s));
            }
        }
        return text.toString();
    }

    private static String item(Connection c, int id) throws SQLException {
        try (Statement s = c.createStatement()) {
            return String.valueOf(s.executeQuery("SELECT id FROM items WHERE name = 'hunter2' OR id = " + id).next());
        }
    }
}
