package harness;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counters for classes whose loader shows them java.* only. They find a map from names to counters
 * among the system's properties: entries under the method's name, exceptions under "!" and the name.
 */
public final class Distant {
    private static final Map<String, LongAdder> COUNTERS = new ConcurrentHashMap<>();

    static {
        System.getProperties().put("live.counters", COUNTERS);
    }

    private Distant() {
    }

    /** Registers a method by its full name. */
    public static void register(String method, Tally.Trust trust, long entries, long exceptions) {
        int id = Tally.register(method, trust, entries, exceptions);
        COUNTERS.put(method, Tally.entered(id));
        COUNTERS.put("!" + method, Tally.threw(id));
    }
}
