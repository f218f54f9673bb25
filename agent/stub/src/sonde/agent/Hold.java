package sonde.agent;

import java.io.File;

/**
 * Keeps a program from beginning until Sonde has its hooks ready: as long as a file is there, and never longer
 * than it was told.
 */
final class Hold {
    private static final String ARGUMENT = "hold";
    private static final int USUAL_SECONDS = 30;
    private static final int MOST_SECONDS = 600;
    private static final long LOOK_MILLIS = 2;

    private final File file;
    private final long until;
    private volatile boolean over;

    private Hold(File file, int seconds) {
        this.file = file;
        this.until = System.nanoTime() + seconds * 1000000000L;
    }

    /** Reads the agent's argument, {@code hold} or {@code hold=SECONDS}; null where nothing is to be held. */
    static Hold begin(String argument) {
        try {
            int seconds = seconds(argument);
            if (seconds <= 0) {
                return null;
            }
            File file = new File("/tmp/.sonde_hold" + Note.pid());
            Note.publish(file, Note.random());
            return new Hold(file, seconds);
        } catch (Throwable contained) {
            return null; // What cannot be let go must not be held.
        }
    }

    private static int seconds(String argument) {
        if (ARGUMENT.equals(argument)) {
            return USUAL_SECONDS;
        }
        if (argument == null || !argument.startsWith(ARGUMENT + "=")) {
            return 0;
        }
        return Math.min(MOST_SECONDS, Integer.parseInt(argument.substring(ARGUMENT.length() + 1)));
    }

    /** Returns when the file is gone or the time is over. */
    void await() {
        try {
            while (file.exists() && System.nanoTime() - until < 0) {
                Thread.sleep(LOOK_MILLIS);
            }
        } catch (Throwable contained) {
            // Whatever it is, the program goes on.
        } finally {
            over = true;
            file.delete();
        }
    }

    boolean isOver() {
        return over;
    }
}
