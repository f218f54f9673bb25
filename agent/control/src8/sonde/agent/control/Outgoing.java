package sonde.agent.control;

import java.util.ArrayDeque;

/** Frames to send to Sonde, with a bounded number of bytes. */
final class Outgoing {
    private static final int MOST_BYTES = 8 << 20;

    private final ArrayDeque<byte[]> queue = new ArrayDeque<byte[]>();
    private int bytes;
    private boolean writing;
    private boolean ended;

    /** Adds a frame, unless there is no room. A frame that is larger than the limit is sent alone. Never waits. */
    synchronized boolean offer(Frame frame) {
        byte[] sent = frame.finish();
        if (bytes > 0 && bytes + sent.length > MOST_BYTES) {
            return false;
        }
        add(sent);
        return true;
    }

    /** Adds a small frame, even if there is no room. */
    synchronized void add(Frame small) {
        add(small.finish());
    }

    private void add(byte[] sent) {
        queue.add(sent);
        bytes += sent.length;
        notifyAll();
    }

    /** Waits for room and adds a frame; false if the session ended before. */
    synchronized boolean put(Frame frame, Lease lease) {
        Deadline never = new Deadline(Integer.MAX_VALUE);
        while (!offer(frame)) {
            if (lease.over()) {
                return false;
            }
            never.await(this);
        }
        return true;
    }

    /** Returns the next frame to write; null if none came in a while. The previous frame counts as written. */
    synchronized byte[] take(Deadline deadline) {
        written();
        while (queue.isEmpty() && !ended && !deadline.over()) {
            deadline.await(this);
        }
        byte[] next = queue.poll();
        writing = next != null;
        if (writing) {
            bytes -= next.length;
        }
        return next;
    }

    /** Waits until everything is written, for a limited time. */
    synchronized void drain(Deadline deadline, Lease lease) {
        while ((writing || !queue.isEmpty()) && !deadline.over() && !lease.over()) {
            deadline.await(this);
        }
    }

    /** Ends all waiting for frames. */
    synchronized void end() {
        ended = true;
        notifyAll();
    }

    private void written() {
        writing = false;
        notifyAll();
    }
}
