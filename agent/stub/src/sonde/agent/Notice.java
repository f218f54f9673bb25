package sonde.agent;

import java.io.File;
import java.util.function.Consumer;

/**
 * Tells, in a file, whoever looks for it which pack this JVM was given, and what became of it: the path of the arena,
 * that of the pack, and, where the pack is not in, why. One thread uses it at a time.
 */
final class Notice implements Consumer<String> {
    private static final long OLD_MILLIS = 3600000;
    private static final long PATIENCE_NANOS = 60000000000L;

    private final String pack;
    /** What the file says; null if it could not be written, or is not there. */
    private String last;
    /** When it could not be written; 0 if it could. */
    private long failed;

    Notice(String pack) {
        this.pack = pack.replace('\n', '?');
    }

    /**
     * Writes where the arena is; empty if the pack is not in, then a line why; null if there is nothing to tell any more.
     * Told the same again, it sees to it that the file is there, and not so old that it would be cleaned away.
     */
    @Override
    public void accept(String told) {
        try {
            File file = new File("/tmp/.sonde_pack" + Note.pid());
            if (told == null) {
                last = null;
                file.delete();
            } else if (!told.equals(last) || !isKept(file)) {
                publish(file, told);
            }
        } catch (Throwable contained) {
            // Nobody is told: the program is not to know.
        }
    }

    private static boolean isKept(File file) {
        long written = file.lastModified(); // 0 if it is gone
        long now = System.currentTimeMillis();
        return written != 0 && (now - written < OLD_MILLIS || file.setLastModified(now));
    }

    /** What keeps it from being written may be there for long: it is not tried at each turn. */
    private void publish(File file, String told) throws Exception {
        if (failed != 0 && System.nanoTime() - failed < PATIENCE_NANOS && !told.startsWith("\n")) {
            return;
        }
        last = null;
        failed = System.nanoTime() | 1;
        Note.publish(file, told.startsWith("\n") ? "\n" + pack + told : told + "\n" + pack);
        last = told;
        failed = 0;
    }
}
