package sonde.agent.control;

import java.util.HashMap;
import java.util.Map;

/** The agent's requests to Sonde, and the replies. */
final class Replies {
    private final Map<Integer, Received> replies = new HashMap<Integer, Received>();
    private int last;

    /** Opens a request: even, and never 0. */
    synchronized int open() {
        do {
            last += 2;
        } while (last == 0 || replies.containsKey(last));
        replies.put(last, null);
        return last;
    }

    /** Passes a reply to the waiting thread. A late reply is dropped. */
    synchronized void deliver(Received reply) throws BadFrame {
        if (reply.request == 0 || (reply.request & 1) != 0) {
            throw new BadFrame("it answers a request that was not sent");
        }
        if (replies.containsKey(reply.request)) {
            replies.put(reply.request, reply);
            notifyAll();
        }
    }

    /** Waits for the reply and closes the request; null if none came in time. */
    Received await(int request, Deadline deadline, Wanted wanted) {
        Received reply;
        synchronized (this) {
            while ((reply = replies.get(request)) == null && wanted.still() && !deadline.over()) {
                deadline.await(this);
            }
            replies.remove(request);
        }
        deadline.done();
        return reply;
    }

    synchronized void close(int request) {
        replies.remove(request);
    }

    /** Makes waiting threads check again whether to wait. */
    synchronized void wake() {
        notifyAll();
    }

    /** Whether a reply is still wanted. */
    interface Wanted {
        boolean still();
    }
}
