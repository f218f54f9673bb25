package calls;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;

/**
 * A web server over a database, and its clients. A line "work N" does everything N times, one after the other; the
 * answer says how often that was done. Secrets are in all places that nobody may record.
 */
public final class Calls {
    private static final String SECRET = "hunter2";
    private static Connection connection;
    private static Connection pool;
    private static PreparedStatement early;
    private static int requests;
    private static int statements;

    private Calls() {
    }

    /** A handler that is a class; the other one is a lambda. */
    private static final class Orders implements HttpHandler {
        @Override
        public void handle(HttpExchange exchange) throws IOException {
            requests++;
            try {
                for (int i = 0; i < 3; i++) {
                    query(i);
                }
                answer(exchange, 200);
            } catch (Exception e) {
                throw new IOException(e);
            }
        }
    }

    private static void answer(HttpExchange exchange, int status) throws IOException {
        exchange.getResponseHeaders().add("Set-Cookie", SECRET + "-cookie");
        byte[] body = (SECRET + "-body").getBytes();
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    /** A connection or a statement as a pool hands it out: around that of the driver. */
    private static <T> T pooled(T inner, Class<T> type) {
        return type.cast(Proxy.newProxyInstance(Calls.class.getClassLoader(), new Class<?>[] {type}, (proxy, method, args) -> {
            try {
                Object result = method.invoke(inner, args);
                return method.getName().equals("prepareStatement") ? pooled((PreparedStatement) result, PreparedStatement.class) : result;
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        }));
    }

    private static synchronized void query(int id) throws Exception {
        statements++;
        try (PreparedStatement s = pool.prepareStatement("select name from orders where id = ? and name <> '" + SECRET + "-literal-" + statements + "'")) {
            s.setInt(1, id);
            try (ResultSet rows = s.executeQuery()) {
                rows.next();
            }
        }
    }

    private static synchronized void others() throws Exception {
        try (Statement s = connection.createStatement()) {
            statements++;
            s.executeUpdate("update orders set name = '" + SECRET + "-" + statements + "' where id = " + statements);
            statements++;
            s.executeQuery("select  id from orders where id in (" + statements + ", 2, 3)").close();
            statements++;
            try {
                s.execute("select '" + SECRET + "' from nowhere");
                throw new IllegalStateException("there is no such table");
            } catch (java.sql.SQLException expected) {
                // An error of the database.
            }
        }
        try (PreparedStatement s = connection.prepareStatement("insert into orders (id, name) values (?, ?)")) {
            for (int i = 0; i < 2; i++) {
                s.setInt(1, 1000 + i);
                s.setString(2, SECRET + "-bound");
                s.addBatch();
            }
            statements++;
            s.executeBatch();
        }
        statements++;
        early.execute();
    }

    private static void get(int port, String path) throws Exception {
        HttpURLConnection c = (HttpURLConnection) URI.create("http://localhost:" + port + path + "?token=" + SECRET + "-query").toURL().openConnection();
        c.setRequestProperty("Authorization", SECRET + "-header");
        c.getResponseCode();
        try (InputStream in = c.getInputStream()) {
            in.readAllBytes();
        } catch (IOException expected) {
            // An answer with an error has no body.
        }
    }

    public static void main(String[] args) throws Exception {
        connection = DriverManager.getConnection("jdbc:h2:mem:calls");
        pool = pooled(connection, Connection.class);
        try (Statement s = connection.createStatement()) {
            s.execute("create table orders (id int, name varchar(80))");
        }
        early = connection.prepareStatement("delete from orders where id > 900");
        HttpServer server = HttpServer.create(new InetSocketAddress("localhost", 0), 0);
        server.createContext("/orders", new Orders());
        server.createContext("/broken", exchange -> {
            requests++;
            answer(exchange, 503);
        });
        server.start();
        int port = server.getAddress().getPort();
        HttpClient client = HttpClient.newHttpClient();
        for (int i = 0; i < 2; i++) { // so that all classes are loaded in one of the tests
            if (args.length > 0) {
                round(client, port, i);
            }
        }
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            requests = 0;
            statements = 0;
            int rounds = Integer.parseInt(line.substring("work ".length()));
            for (int i = 0; i < rounds; i++) {
                round(client, port, i);
            }
            System.out.println("did " + requests + " " + statements);
        }
        server.stop(0);
        System.exit(0);
    }

    private static void round(HttpClient client, int port, int i) throws Exception {
        get(port, "/orders/" + i);
        get(port, "/broken");
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://localhost:" + port + "/orders/" + i + "/items;s=" + SECRET + "?q=" + SECRET))
                .header("X-Token", SECRET).build();
        client.send(request, HttpResponse.BodyHandlers.ofString());
        others();
    }
}
