package load;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * Asks a database server for orders until its input ends, mostly by their numbers, one time in ten by the customer. Asked "take", it
 * answers by how many milliseconds each query took since the last time.
 */
public final class Queries {
    private static final int ORDERS = 300_000;
    private static final List<Double> TIMES = Collections.synchronizedList(new ArrayList<>());
    private static volatile boolean failed;

    private Queries() {
    }

    /** The address of the database, and whether customers get an index. */
    public static void main(String[] args) throws Exception {
        try (Connection connection = DriverManager.getConnection(args[0], "sa", ""); Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE orders(id INT PRIMARY KEY, customer INT, note VARCHAR) AS SELECT x, MOD(x, 10000), 'order ' || x FROM SYSTEM_RANGE(1, " + ORDERS + ")");
            if (args[1].equals("index")) {
                statement.execute("CREATE INDEX orders_customer ON orders(customer)");
            }
            for (int i = 0; i < 4; i++) {
                Thread thread = new Thread(() -> ask(args[0]), "client");
                thread.setDaemon(true);
                thread.start();
            }
            System.out.println("ready");
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
            while (in.readLine() != null && !failed) {
                StringBuilder answer = new StringBuilder("take");
                synchronized (TIMES) {
                    for (double time : TIMES) {
                        answer.append(' ').append(Math.round(time * 1000) / 1000.0);
                    }
                    TIMES.clear();
                }
                System.out.println(answer);
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private static void ask(String url) {
        Random random = new Random();
        try (Connection connection = DriverManager.getConnection(url, "sa", "");
                PreparedStatement byNumber = connection.prepareStatement("SELECT note FROM orders WHERE id = ?");
                PreparedStatement byCustomer = connection.prepareStatement("SELECT note FROM orders WHERE customer = ?")) {
            while (true) {
                Thread.sleep(8);
                boolean isByCustomer = random.nextInt(10) == 0;
                PreparedStatement statement = isByCustomer ? byCustomer : byNumber;
                statement.setInt(1, random.nextInt(isByCustomer ? 10_000 : ORDERS));
                long began = System.nanoTime();
                try (ResultSet rows = statement.executeQuery()) {
                    while (rows.next()) {
                        rows.getString(1);
                    }
                }
                TIMES.add((System.nanoTime() - began) / 1e6);
            }
        } catch (SQLException | InterruptedException e) {
            e.printStackTrace();
            failed = true;
        }
    }
}
