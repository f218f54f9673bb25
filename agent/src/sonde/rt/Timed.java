package sonde.rt;

/**
 * Keeps calls and nanoseconds per woven method, and prints them when the JVM ends.
 *
 * <p>Each thread counts in a table of its own, with plain stores. A method that calls itself, directly or
 * not, is counted at each call, but only its outermost activation adds time. An activation that is running
 * when the JVM ends counts with the time it has taken so far.
 *
 * <p>System properties, read once at start: {@code sonde.timed.out}, a file to write instead of the standard
 * error stream; {@code sonde.timed.top}, how many methods to print.
 */
public final class Timed {
    /** Origin of all times here, so that they are never negative and the sign of a token is free. */
    private static final long ORIGIN = System.nanoTime();

    static {
        TimedReport.atExit();
    }

    private Timed() {
    }

    /**
     * Counts a call.
     *
     * @param id the method's id
     * @param name its name, a string constant: names are compared by identity
     * @return the token for {@link #exit}: the time of entry for an outermost activation, else the complement
     *     of the depth at entry
     */
    public static long enter(int id, String name) {
        TimedCell cell = TimedThreads.current().cell(id, name);
        int depth = cell.depth;
        // Calls that may overflow the stack come before the first store, so that no cell is left incomplete.
        long token = depth == 0 ? now() : ~(long) depth;
        if (depth == 0) {
            cell.start = token;
        }
        cell.depth = depth + 1;
        cell.calls++;
        return token;
    }

    /** Ends the activation whose entry returned {@code token}, and inner ones whose exits were missed. */
    public static void exit(int id, String name, long token) {
        TimedCell cell = TimedThreads.current().cell(id, name);
        if (token < 0) {
            cell.depth = (int) ~token;
            return;
        }
        long nanos = now() - token;
        cell.depth = 0;
        cell.nanos += nanos;
    }

    /** Nanoseconds since this class was initialised. */
    static long now() {
        long elapsed = System.nanoTime() - ORIGIN;
        return elapsed < 0 ? 0 : elapsed;
    }
}
