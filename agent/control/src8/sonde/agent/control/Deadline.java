package sonde.agent.control;

/** A time limit of a wait. Threads of the program wait here, too: an interrupt is restored for them. */
final class Deadline {
    /** The time after which a wait checks its condition again, because not every change is signalled. */
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

    /** Waits for a while on an object whose monitor the caller holds. */
    void await(Object monitor) {
        long left = (nanos - (System.nanoTime() - start)) / 1000000 + 1;
        try {
            monitor.wait(Math.max(1, Math.min(left, LOOK_MILLIS)));
        } catch (InterruptedException e) {
            interrupted = true;
        }
    }

    /** Restores an interrupt. Called after a wait on a thread of the program. */
    void done() {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
