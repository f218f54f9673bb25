package office.service;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import office.dao.Database;

/** Counts orders again and again, and has a connection to the database as long as that takes. */
public final class Statistics implements Runnable {
    private final Database database;

    public Statistics(Database database) {
        this.database = database;
    }

    @Override
    public void run() {
        while (true) {
            Rest.millis(400);
            try {
                count();
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private void count() throws SQLException {
        try (Connection connection = database.connect(); Statement statement = connection.createStatement()) {
            statement.execute("CALL PAUSE(120)");
        }
    }
}
