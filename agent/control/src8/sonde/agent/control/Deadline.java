package sonde.agent.control;

/** An end to waiting. Threads of the program wait here too: an interrupt is theirs, and is kept for them. */
final class Deadline {
    /** How long one wait lasts at most before its condition, which not everybody announces, is looked at again. */
    private static final long LOOK_MILLIS = 100;

    private final long start = System.nanoTime();
    private final long nanos;
    private boolean interrupted;

    Deadline(long millis) {
        nanos = millis * 1000000;
    }

    boolean over() {
        return System.nanoTime() - start >= nanos;
    }

    /** Waits a while on an object whose monitor the caller has. */
    void await(Object monitor) {
        long left = (nanos - (System.nanoTime() - start)) / 1000000 + 1;
        try {
            monitor.wait(Math.max(1, Math.min(left, LOOK_MILLIS)));
        } catch (InterruptedException e) {
            interrupted = true;
        }
    }

    /** Gives back an interrupt that came in the meantime. To be called at the end of waiting on a thread of the program. */
    void done() {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
