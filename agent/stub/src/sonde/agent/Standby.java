package sonde.agent;

import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.instrument.Instrumentation;

/**
 * Waits, in a JVM started with the agent, for the invitation of a Sonde that has proven to be of the same user
 * by knowing the ticket.
 */
final class Standby implements Runnable {
    private static final long LOOK_MILLIS = 500;
    private static final int TICKET_BYTES = 16;
    private static final int MOST_OF_INVITATION = 8192;

    private final Instrumentation instrumentation;

    Standby(Instrumentation instrumentation) {
        this.instrumentation = instrumentation;
    }

    @Override
    public void run() {
        try {
            String pid = new File("/proc/self").getCanonicalFile().getName();
            String ticket = ticket();
            publish(new File("/tmp/.sonde_pid" + pid), ticket);
            File invitation = new File("/tmp/.sonde_invite" + pid);
            while (true) {
                Thread.sleep(LOOK_MILLIS);
                if (invitation.exists()) {
                    follow(invitation, ticket);
                }
            }
        } catch (Throwable contained) {
            // Without a ticket nobody can invite: the program runs as if the agent were not there.
        }
    }

    private static String ticket() throws IOException {
        StringBuilder hex = new StringBuilder();
        InputStream random = new FileInputStream("/dev/urandom");
        try {
            for (int i = 0; i < TICKET_BYTES; i++) {
                int b = random.read();
                hex.append(Character.forDigit(b >> 4 & 15, 16)).append(Character.forDigit(b & 15, 16));
            }
        } finally {
            random.close();
        }
        return hex.toString();
    }

    /** The file is new and nobody else's to read before the ticket is in it. */
    private static void publish(File file, String ticket) throws IOException {
        if (!file.createNewFile() && !(file.delete() && file.createNewFile())) {
            throw new IOException();
        }
        file.deleteOnExit();
        boolean narrowed = file.setReadable(false, false) & file.setWritable(false, false)
                & file.setReadable(true, true) & file.setWritable(true, true);
        if (!narrowed) {
            throw new IOException();
        }
        OutputStream out = new FileOutputStream(file);
        try {
            out.write((ticket + "\n").getBytes("US-ASCII"));
        } finally {
            out.close();
        }
    }

    private void follow(File invitation, String ticket) {
        try {
            String[] lines = read(invitation).split("\n");
            invitation.delete();
            if (lines.length == 2 && same(lines[0], ticket)) {
                Stub.begin(lines[1], instrumentation);
            }
        } catch (Throwable contained) {
            invitation.delete();
        }
    }

    /** Anybody can put something there: only a file, and only so much of it, is read. */
    private static String read(File invitation) throws IOException {
        if (!invitation.isFile()) {
            throw new IOException();
        }
        byte[] content = new byte[MOST_OF_INVITATION];
        int length = 0;
        InputStream in = new FileInputStream(invitation);
        try {
            int n;
            while (length < content.length && (n = in.read(content, length, content.length - length)) > 0) {
                length += n;
            }
        } finally {
            in.close();
        }
        return new String(content, 0, length, "UTF-8");
    }

    /** Compares in a time that tells nothing about where two texts differ. */
    private static boolean same(String a, String b) {
        int difference = a.length() ^ b.length();
        for (int i = 0; i < a.length() && i < b.length(); i++) {
            difference |= a.charAt(i) ^ b.charAt(i);
        }
        return difference == 0;
    }
}
