package sonde.agent.control;

import java.util.ArrayDeque;

/** A queue of commands. */
final class Inbox {
    /** More than Sonde ever sends without waiting for replies. */
    private static final int MOST = 1024;

    private final ArrayDeque<Received> queue = new ArrayDeque<Received>();
    private boolean woken;

    synchronized void put(Received command) throws BadFrame {
        if (queue.size() >= MOST) {
            throw new BadFrame("too many commands are waiting");
        }
        queue.add(command);
        notifyAll();
    }

    /** Returns the next command; null if none came in a while, or {@link #wake} was called. */
    synchronized Received take(Deadline deadline) {
        while (queue.isEmpty() && !woken && !deadline.over()) {
            deadline.await(this);
        }
        return queue.poll();
    }

    /** Ends all waiting for commands. */
    synchronized void wake() {
        woken = true;
        notifyAll();
    }
}
