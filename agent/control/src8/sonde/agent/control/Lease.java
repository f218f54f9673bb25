package sonde.agent.control;

/** The time for which Sonde may hold the JVM: until the connection ends, or was silent for some time. */
final class Lease {
    private static final long TO_MEET_MILLIS = 10000;

    private volatile long renewed = System.nanoTime();
    private volatile long nanos = TO_MEET_MILLIS * 1000000;
    private volatile boolean ended;

    void renew() {
        renewed = System.nanoTime();
    }

    /** Whether Sonde has sent something since a time of System.nanoTime. */
    boolean heardSince(long moment) {
        return renewed - moment > 0;
    }

    void length(long millis) {
        nanos = millis * 1000000;
    }

    void end() {
        ended = true;
    }

    /** An expired lease stays expired: a late frame does not renew it. */
    boolean over() {
        if (!ended && System.nanoTime() - renewed > nanos) {
            ended = true;
        }
        return ended;
    }
}
