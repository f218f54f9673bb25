package sonde.agent;

import java.io.File;
import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.util.Properties;

/**
 * Waits, in a JVM started with the agent, for the invitation of a Sonde of the same user or of root. Two things prove
 * that, each by itself: the ticket, which only they can read, and the files, which only they can have written.
 */
final class Standby implements Runnable {
    private static final long LOOK_MILLIS = 500;
    private static final long HELD_LOOK_MILLIS = 5; // while the program is held

    private final Instrumentation instrumentation;
    private final Hold hold; // may be null

    Standby(Instrumentation instrumentation, Hold hold) {
        this.instrumentation = instrumentation;
        this.hold = hold;
    }

    @Override
    public void run() {
        try {
            String pid = Note.pid();
            String ticket = Note.random();
            Note.publish(new File("/tmp/.sonde_pid" + pid), ticket);
            File invitation = new File("/tmp/.sonde_invite" + pid);
            while (true) {
                look(invitation, ticket);
            }
        } catch (Throwable contained) {
            // Without a ticket, no invitation is possible: the program runs as without the agent.
        }
    }

    /** As long as the ticket exists, the agent waits: no action of the program on this thread ends that. */
    private void look(File invitation, String ticket) {
        try {
            Thread.sleep(hold == null || hold.isOver() ? LOOK_MILLIS : HELD_LOOK_MILLIS);
            if (invitation.exists()) {
                follow(invitation, ticket);
            }
        } catch (Throwable contained) {
            // An interrupt, out of memory, an invitation that is not trusted: the next check may succeed.
        }
    }

    /** Acts on an invitation if it is trusted. It is always removed if possible, because it would block others. */
    private void follow(File invitation, String ticket) throws IOException {
        String[] lines;
        try {
            lines = Note.read(Trust.check(invitation)).split("\n");
        } finally {
            invitation.delete();
        }
        if (lines.length == 2 && Note.same(lines[0], ticket)) {
            Properties session = Stub.read(Trust.check(new File(lines[1])));
            session.setProperty("jar", Trust.check(new File(session.getProperty("jar"))).getPath());
            Stub.begin(session, instrumentation);
        }
    }
}
