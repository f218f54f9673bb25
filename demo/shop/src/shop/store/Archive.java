package shop.store;

import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Keeps the newest orders and drops older ones, so that a shop left running does not grow. */
public final class Archive {
    private static final long KEPT_ORDERS = 30_000;
    private static final long SECONDS_BETWEEN = 10;

    private final Database database;

    public Archive(Database database) {
        this.database = database;
    }

    public void keepPruning() {
        ScheduledExecutorService clerk = Executors.newSingleThreadScheduledExecutor(task -> {
            Thread thread = new Thread(task, "archive");
            thread.setDaemon(true);
            return thread;
        });
        clerk.scheduleWithFixedDelay(this::prune, SECONDS_BETWEEN, SECONDS_BETWEEN, TimeUnit.SECONDS);
    }

    private void prune() {
        long newest = database.first("SELECT MAX(id) FROM orders", row -> row.getLong(1)).orElse(0L);
        if (newest > KEPT_ORDERS) {
            database.update("DELETE FROM order_lines WHERE order_id <= ?", newest - KEPT_ORDERS);
            database.update("DELETE FROM orders WHERE id <= ?", newest - KEPT_ORDERS);
        }
    }
}
