package sonde.agent.control;

import java.util.ArrayDeque;

/** Frames on their way to Sonde, as many bytes as a program can spare. */
final class Outgoing {
    private static final int MOST_BYTES = 8 << 20;

    private final ArrayDeque<byte[]> queue = new ArrayDeque<byte[]>();
    private int bytes;
    private boolean writing;
    private boolean ended;

    /** Takes a frame, unless there is no room. A frame that is itself too large goes alone. Never waits. */
    synchronized boolean offer(Frame frame) {
        byte[] sent = frame.finish();
        if (bytes > 0 && bytes + sent.length > MOST_BYTES) {
            return false;
        }
        add(sent);
        return true;
    }

    /** Takes a frame of a few bytes, room or not. */
    synchronized void add(Frame small) {
        add(small.finish());
    }

    private void add(byte[] sent) {
        queue.add(sent);
        bytes += sent.length;
        notifyAll();
    }

    /** Takes a frame when there is room for it; false if the session ended before. */
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

    /** Gives the next frame to write; null if none came in a while. What was given before is written. */
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

    /** Waits until all is written, as long as it is worth it. */
    synchronized void drain(Deadline deadline, Lease lease) {
        while ((writing || !queue.isEmpty()) && !deadline.over() && !lease.over()) {
            deadline.await(this);
        }
    }

    /** From here on nobody waits for frames to write any more. */
    synchronized void end() {
        ended = true;
        notifyAll();
    }

    private void written() {
        writing = false;
        notifyAll();
    }
}
