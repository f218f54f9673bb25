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
    private static final int RANDOM_BYTES = 16;
    private static final int MOST_BYTES = 8192;

    private final Instrumentation instrumentation;

    Standby(Instrumentation instrumentation) {
        this.instrumentation = instrumentation;
    }

    @Override
    public void run() {
        try {
            String pid = new File("/proc/self").getCanonicalFile().getName();
            String ticket = random();
            publish(new File("/tmp/.sonde_pid" + pid), ticket);
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
            Thread.sleep(LOOK_MILLIS);
            if (invitation.exists()) {
                follow(invitation, ticket);
            }
        } catch (Throwable contained) {
            // An interrupt, or a lack of memory: the next look may be better.
        }
    }

    private static String random() throws IOException {
        StringBuilder hex = new StringBuilder();
        InputStream source = new FileInputStream("/dev/urandom");
        try {
            for (int i = 0; i < RANDOM_BYTES; i++) {
                int b = source.read();
                hex.append(Character.forDigit(b >> 4 & 15, 16)).append(Character.forDigit(b & 15, 16));
            }
        } finally {
            source.close();
        }
        return hex.toString();
    }

    /**
     * Writes the ticket where nobody expects it, gives it its name only then, and believes in it only if it is
     * there after: where others may rename what lies in the directory, another file could have come between.
     */
    private static void publish(File file, String ticket) throws IOException {
        File fresh = new File(file.getPath() + "-" + random());
        if (!fresh.createNewFile()) {
            throw new IOException();
        }
        boolean named = false;
        try {
            narrow(fresh);
            write(fresh, ticket + "\n");
            named = fresh.renameTo(file);
        } finally {
            if (!named) {
                fresh.delete();
            }
        }
        if (!named) {
            throw new IOException();
        }
        file.deleteOnExit();
        boolean ours = false;
        try {
            // Changes nothing, and only its owner can.
            ours = file.setReadable(true, true) && same(read(file), ticket + "\n");
        } finally {
            if (!ours) {
                file.delete();
            }
        }
        if (!ours) {
            throw new IOException();
        }
    }

    /** Has nobody but this user read and write a file. */
    private static void narrow(File file) throws IOException {
        boolean narrowed = file.setReadable(false, false) & file.setWritable(false, false)
                & file.setReadable(true, true) & file.setWritable(true, true);
        if (!narrowed) {
            throw new IOException();
        }
    }

    private static void write(File file, String text) throws IOException {
        OutputStream out = new FileOutputStream(file);
        try {
            out.write(text.getBytes("US-ASCII"));
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

    /** Anybody can put something in /tmp: only a file, and only so much of it, is read. */
    private static String read(File file) throws IOException {
        if (!file.isFile()) {
            throw new IOException();
        }
        byte[] content = new byte[MOST_BYTES];
        int length = 0;
        InputStream in = new FileInputStream(file);
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
