package sonde.agent;

import java.io.File;
import java.lang.instrument.Instrumentation;

/**
 * Waits, in a JVM started with the agent, for the invitation of a Sonde that has proven to be of the same user
 * by knowing the ticket.
 */
final class Standby implements Runnable {
    private static final long LOOK_MILLIS = 500;
    private static final long HELD_LOOK_MILLIS = 5; // the program waits for it

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
            // Without a ticket nobody can invite: the program runs as if the agent were not there.
        }
    }

    /** Whoever finds the ticket must find the agent waiting: nothing the program does to this thread ends that. */
    private void look(File invitation, String ticket) {
        try {
            Thread.sleep(hold == null || hold.isOver() ? LOOK_MILLIS : HELD_LOOK_MILLIS);
            if (invitation.exists()) {
                follow(invitation, ticket);
            }
        } catch (Throwable contained) {
            // An interrupt, or a lack of memory: the next look may be better.
        }
    }

    private void follow(File invitation, String ticket) {
        try {
            String[] lines = Note.read(invitation).split("\n");
            invitation.delete();
            if (lines.length == 2 && Note.same(lines[0], ticket)) {
                Stub.begin(lines[1], instrumentation);
            }
        } catch (Throwable contained) {
            invitation.delete();
        }
    }
}
