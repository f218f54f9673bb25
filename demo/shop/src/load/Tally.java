package load;

import java.io.PrintWriter;
import java.util.Map;
import java.util.TreeMap;

/** How many requests of each kind there were, and how long they took. */
final class Tally {
    private static final int COUNT = 0;
    private static final int NANOS = 1;
    private static final int SLOWEST = 2;

    private final Map<String, long[]> sinceReport = new TreeMap<>();
    private final PrintWriter log;
    private long failures;

    /** Writes each request into the log as well, which may be null: when it was sent, how long it took, its kind. */
    Tally(PrintWriter log) {
        this.log = log;
    }

    synchronized void add(String kind, long millis, long nanos) {
        if (log != null) {
            log.println(millis + " " + nanos + " " + kind);
        }
        long[] sums = sinceReport.computeIfAbsent(kind, k -> new long[3]);
        sums[COUNT]++;
        sums[NANOS] += nanos;
        sums[SLOWEST] = Math.max(sums[SLOWEST], nanos);
    }

    synchronized void fail(String what) {
        failures++;
        System.err.println("load: " + what);
    }

    synchronized long failures() {
        return failures;
    }

    /** Answers a table of what came in since the last one, ended by an empty line. */
    synchronized String takeReport() {
        StringBuilder table = new StringBuilder();
        table.append(String.format("%8s %9s %9s  %s%n", "REQUESTS", "MEAN", "SLOWEST", "KIND"));
        sinceReport.forEach((kind, sums) -> table.append(String.format("%8d %6.1f ms %6.1f ms  %s%n", sums[COUNT],
            sums[NANOS] / 1e6 / sums[COUNT], sums[SLOWEST] / 1e6, kind)));
        sinceReport.clear();
        if (log != null) {
            log.flush();
        }
        return table.append('\n').toString();
    }
}
