package sonde.agent;

import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/** Small files in /tmp, where other users can create files, too. */
final class Note {
    private static final int RANDOM_BYTES = 16;
    private static final int MOST_BYTES = 16384;

    private Note() {
    }

    /** The PID in the process's own namespace. */
    static String pid() throws IOException {
        return new File("/proc/self").getCanonicalFile().getName();
    }

    static String random() throws IOException {
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
     * Writes a secret under a name in a directory that all may use. The file exists only in a directory of its own, closed to
     * others, until it is closed to them itself: whoever opened it earlier could read what is written later, and a
     * watch on the directory reports every name, however random. Where the umask lets others write, they can put a
     * file into the new directory before it is closed; so it must be empty afterwards.
     *
     * <p>The secret counts only if it is still there afterwards: if others can rename entries of the directory, they
     * could replace the file.
     */
    static void publish(File file, String secret) throws IOException {
        File room = new File(file.getPath() + "-" + random());
        File fresh = new File(room, "note");
        boolean named = false;
        if (!room.mkdir()) {
            throw new IOException();
        }
        try {
            narrow(room, true);
            if (room.list().length != 0 || !fresh.createNewFile()) {
                throw new IOException();
            }
            narrow(fresh, false);
            write(fresh, secret + "\n");
            named = fresh.renameTo(file);
        } finally {
            if (!named) {
                fresh.delete();
            }
            room.delete();
        }
        if (!named) {
            throw new IOException();
        }
        boolean ours = false;
        try {
            file.deleteOnExit(); // fails if the JVM is exiting
            // Changes nothing, and only its owner can.
            ours = file.setReadable(true, true) && same(read(file), secret + "\n");
        } finally {
            if (!ours) {
                file.delete();
            }
        }
        if (!ours) {
            throw new IOException();
        }
    }

    /** Closes a file or a directory to all but this user. */
    private static void narrow(File file, boolean isDirectory) throws IOException {
        boolean narrowed = file.setReadable(false, false) & file.setWritable(false, false) & file.setExecutable(false, false)
                & file.setReadable(true, true) & file.setWritable(true, true) & (!isDirectory || file.setExecutable(true, true));
        if (!narrowed) {
            throw new IOException();
        }
    }

    private static void write(File file, String text) throws IOException {
        OutputStream out = new FileOutputStream(file);
        try {
            out.write(text.getBytes("UTF-8"));
        } finally {
            out.close();
        }
    }

    /** Any user can create entries in /tmp: only a regular file is read, up to a limit. */
    static String read(File file) throws IOException {
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

    /** Compares in a time that does not depend on where two texts differ. */
    static boolean same(String a, String b) {
        int difference = a.length() ^ b.length();
        for (int i = 0; i < a.length() && i < b.length(); i++) {
            difference |= a.charAt(i) ^ b.charAt(i);
        }
        return difference == 0;
    }
}
