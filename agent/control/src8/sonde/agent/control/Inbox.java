package sonde.agent.control;

import java.util.ArrayDeque;

/** Commands in the order they came. */
final class Inbox {
    /** A Sonde waits for its replies: it never has this many under way. */
    private static final int MOST = 1024;

    private final ArrayDeque<Received> queue = new ArrayDeque<Received>();
    private boolean woken;

    synchronized void put(Received command) throws BadFrame {
        if (queue.size() >= MOST) {
            throw new BadFrame("it is one command too many");
        }
        queue.add(command);
        notifyAll();
    }

    /** Gives the next command; null if none came in a while, or {@link #wake} was called. */
    synchronized Received take(Deadline deadline) {
        while (queue.isEmpty() && !woken && !deadline.over()) {
            deadline.await(this);
        }
        return queue.poll();
    }

    /** From here on nobody waits for commands any more. */
    synchronized void wake() {
        woken = true;
        notifyAll();
    }
}
