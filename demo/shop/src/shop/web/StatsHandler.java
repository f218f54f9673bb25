package shop.web;

import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongSupplier;

/** What the shop counts about itself. */
public final class StatsHandler implements Handler {
    private final Map<String, LongSupplier> counters;

    public StatsHandler(Map<String, LongSupplier> counters) {
        this.counters = counters;
    }

    @Override
    public Reply handle(Request request) {
        Map<String, Long> counts = new TreeMap<>();
        counters.forEach((name, counter) -> counts.put(name, counter.getAsLong()));
        return Reply.json(200, counts);
    }
}
