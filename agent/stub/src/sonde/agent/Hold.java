package sonde.agent;

import java.io.File;

/**
 * Stops a program before it starts until Sonde has its hooks ready: as long as a file exists, and never longer than the
 * limit in the argument.
 */
final class Hold {
    private static final String ARGUMENT = "hold";
    private static final int USUAL_SECONDS = 30;
    private static final int MOST_SECONDS = 600;
    private static final long LOOK_MILLIS = 2;

    private final File file;
    /** A path that exists as long as the process that holds the program; null if that does not matter. */
    private final File holder;
    private final long until;
    private volatile boolean over;

    private Hold(File file, File holder, int seconds) {
        this.file = file;
        this.holder = holder;
        this.until = System.nanoTime() + seconds * 1000000000L;
    }

    /**
     * Reads the agent's argument, {@code hold} or {@code hold=SECONDS}; null if nothing is to be held. The variable
     * with the argument may outlive the command that set it: after that process has ended, no program waits for it.
     */
    static Hold begin(String argument, String by) {
        try {
            int seconds = seconds(argument);
            File holder = by == null ? null : new File("/proc/" + Integer.parseInt(by));
            if (seconds <= 0 || holder != null && !holder.exists()) {
                return null;
            }
            File file = new File("/tmp/.sonde_hold" + Note.pid());
            Note.publish(file, Note.random());
            return new Hold(file, holder, seconds);
        } catch (Throwable contained) {
            return null; // Without the file, the program could not be released.
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

    /** Returns when the file or the holder is gone, or the time is over. */
    void await() {
        try {
            while (file.exists() && System.nanoTime() - until < 0 && (holder == null || holder.exists())) {
                Thread.sleep(LOOK_MILLIS);
            }
        } catch (Throwable contained) {
            // In any case, the program continues.
        } finally {
            over = true;
            file.delete();
        }
    }

    boolean isOver() {
        return over;
    }
}
