package sonde.agent;

import java.io.File;
import java.util.function.Consumer;

/**
 * A file that says which pack this JVM was started with: the path of the arena, that of the pack, and if the pack is not
 * active, the reason. One thread uses it at a time.
 */
final class Notice implements Consumer<String> {
    private static final long OLD_MILLIS = 3600000;
    private static final long PATIENCE_NANOS = 60000000000L;

    private final String pack;
    /** The contents of the file; null if it could not be written, or does not exist. */
    private String last;
    /** When writing failed; 0 if it did not. */
    private long failed;

    Notice(String pack) {
        this.pack = pack.replace('\n', '?');
    }

    /**
     * Writes the path of the arena; empty if the pack is not active, followed by a line with the reason; null removes the
     * file. The same text again keeps the file in existence, and too new to be cleaned up.
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
            // Not reported: the program must not notice it.
        }
    }

    private static boolean isKept(File file) {
        long written = file.lastModified(); // 0 if it is gone
        long now = System.currentTimeMillis();
        return written != 0 && (now - written < OLD_MILLIS || file.setLastModified(now));
    }

    /** Writing may fail for a long time, so it is not tried each time. */
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
