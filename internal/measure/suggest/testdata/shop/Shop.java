package shop;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import java.io.FileInputStream;
import java.io.IOException;
import java.net.Socket;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.concurrent.locks.ReentrantLock;

/** Does a little of everything that is worth a probe, and is only read. */
final class Shop implements HttpHandler {
    private final Connection connection;
    private final ReentrantLock lock = new ReentrantLock();
    private int sum;

    Shop(Connection connection) {
        this.connection = connection;
    }

    public static void main(String[] args) throws Exception {
        new Shop(null).query("nothing");
    }

    @Override
    public void handle(HttpExchange exchange) throws IOException {
        exchange.sendResponseHeaders(200, order(sum) ? 1 : 0);
    }

    int query(String sql) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql); ResultSet rows = statement.executeQuery()) {
            return rows.next() ? rows.getInt(1) : 0;
        }
    }

    /** Asks the database, but by a small method. */
    int stock(int[] products) throws SQLException {
        int all = 0;
        for (int product : products) {
            all += one(product);
        }
        return all;
    }

    private int one(int product) throws SQLException {
        return connection.prepareStatement("select " + product).executeUpdate();
    }

    private boolean order(int number) {
        int left = number;
        while (left > 10) {
            left -= 7;
        }
        return left == 3;
    }

    int ask(String host) throws IOException {
        try (Socket socket = new Socket(host, 80)) {
            socket.getOutputStream().write(1);
            return socket.getInputStream().read();
        }
    }

    int read(String name) throws IOException {
        try (FileInputStream in = new FileInputStream(name)) {
            return in.read();
        }
    }

    void guarded(int n) {
        lock.lock();
        try {
            for (int i = 0; i < n; i++) {
                sum += i;
            }
        } finally {
            lock.unlock();
        }
    }

    void block(int n) {
        synchronized (this) {
            for (int i = 0; i < n; i++) {
                sum += i;
            }
        }
    }
}
