package sonde.agent.control;

/** How long Sonde may hold the JVM: until the line ends, or nothing came over it for a time. */
final class Lease {
    private static final long TO_MEET_MILLIS = 10000;

    private volatile long renewed = System.nanoTime();
    private volatile long nanos = TO_MEET_MILLIS * 1000000;
    private volatile boolean ended;

    void renew() {
        renewed = System.nanoTime();
    }

    /** Whether Sonde gave a sign of life since a moment of System.nanoTime. */
    boolean heardSince(long moment) {
        return renewed - moment > 0;
    }

    void length(long millis) {
        nanos = millis * 1000000;
    }

    void end() {
        ended = true;
    }

    /** Once over, it stays so: a frame that comes late renews nothing. */
    boolean over() {
        if (!ended && System.nanoTime() - renewed > nanos) {
            ended = true;
        }
        return ended;
    }
}
