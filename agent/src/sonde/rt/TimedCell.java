package sonde.rt;

/**
 * The counters of one thread for one method.
 *
 * <p>Only the owning thread writes. The report may read at any moment: id and name are final and so always
 * seen complete; the counters may be slightly old.
 */
final class TimedCell {
    final int id;
    final String name;
    long calls;
    /** Time of outermost activations that have ended. */
    long nanos;
    /** Running activations. */
    int depth;
    /** When the outermost of them began. */
    long start;

    TimedCell(int id, String name) {
        this.id = id;
        this.name = name;
    }

    /** Returns the time of all outermost activations, including a running one up to {@code now}. */
    long nanosUntil(long now) {
        if (depth == 0 || now < start) {
            return nanos;
        }
        return nanos + (now - start);
    }
}
