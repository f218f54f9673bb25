package sonde.agent.control;

/** The time for which Sonde may hold the JVM: until the connection ends, or was silent for some time. */
final class Lease {
    private static final long TO_MEET_MILLIS = 10000;

    /** Threads of the agent look more often than this. */
    private static final long LOOK_NANOS = 2000000000L;

    private volatile long renewed = System.nanoTime();
    private long looked = renewed;
    private volatile long nanos = TO_MEET_MILLIS * 1000000;
    private volatile boolean ended;
    private volatile String why;

    synchronized void renew() {
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

    /** Ends it, and remembers why, unless it has ended. */
    synchronized void end(String reason) {
        if (!ended) {
            why = reason;
            ended = true;
        }
    }

    /** Why it ended, for Sonde; null if it does not matter, or Sonde knows. */
    String why() {
        return why;
    }

    /**
     * An expired lease stays expired: a late frame does not renew it. If nobody has looked for a while, the machine
     * stood still, and Sonde with it: that time does not count.
     */
    synchronized boolean over() {
        long now = System.nanoTime();
        renewed += Math.max(0, Math.min(now - looked - LOOK_NANOS, now - renewed));
        looked = now;
        if (now - renewed > nanos) {
            end("it has heard nothing from Sonde for " + (now - renewed) / 1000000 + " ms");
        }
        return ended;
    }
}
