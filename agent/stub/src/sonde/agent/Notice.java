package sonde.agent;

import java.io.File;
import java.util.function.Consumer;

/**
 * Tells, in a file, whoever looks for it which pack this JVM was given, and what became of it: the path of the arena,
 * that of the pack, and, where the pack is not in, why.
 */
final class Notice implements Consumer<String> {
    private final String pack;

    Notice(String pack) {
        this.pack = pack.replace('\n', '?');
    }

    /** Writes where the arena is; empty where the pack is not in, then a line why; null where there is nothing to tell any more. */
    @Override
    public void accept(String told) {
        try {
            File file = new File("/tmp/.sonde_pack" + Note.pid());
            if (told == null) {
                file.delete();
            } else if (told.startsWith("\n")) {
                Note.publish(file, "\n" + pack + told);
            } else {
                Note.publish(file, told + "\n" + pack);
            }
        } catch (Throwable contained) {
            // Nobody is told: the program is not to know.
        }
    }
}
