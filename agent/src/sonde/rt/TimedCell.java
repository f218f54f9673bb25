package sonde.rt;

/**
 * What one thread knows of one method.
 *
 * <p>Only the owning thread writes. The report may read at any moment: id and name are final and so always
 * seen whole; the counters may be seen a moment old.
 */
final class TimedCell {
    final int id;
    final String name;
    long calls;
    /** Time of outermost activations that have ended. */
    long nanos;
    /** Activations under way. */
    int depth;
    /** When the outermost of them began. */
    long start;

    TimedCell(int id, String name) {
        this.id = id;
        this.name = name;
    }

    /** Returns the time of all outermost activations, one still under way included up to {@code now}. */
    long nanosUntil(long now) {
        if (depth == 0 || now < start) {
            return nanos;
        }
        return nanos + (now - start);
    }
}
