package sonde.agent.control;

import java.nio.charset.StandardCharsets;

/**
 * What became of classes that a pack knows by name, told in the arena as it happens: a program may end at any moment.
 * Nothing is loaded, or waited for, under its lock.
 */
final class PackAccount {
    /** Where the pack's header has the place of a count, by what is counted. */
    static final int WOVEN = 192;
    static final int DIFFERS = 196;
    static final int BLIND = 200;
    static final int FAILED = 204;
    private static final int NAMES_USED = 208;
    private static final int TEXT = 212;
    private static final int MOST_TEXT = 216;
    private static final int KINDS = 4;

    private final PackFile pack;
    private final Hooks hooks;
    private final int[] counts = new int[KINDS];
    /** Which names, by their first records, were told of, and how: a bit for each kind. */
    private final byte[] told;
    private int used;
    private boolean closed;

    PackAccount(PackFile pack, Hooks hooks) {
        this.pack = pack;
        this.hooks = hooks;
        this.told = new byte[pack.count() + 1];
    }

    void woven() {
        count(WOVEN, null, 0);
    }

    /** Counts a class, and names it unless that was done. */
    void leave(int kind, String name, int record) {
        String line = (kind == DIFFERS ? "differs " : kind == BLIND ? "blind " : "failed ") + name + "\n";
        count(kind, line.getBytes(StandardCharsets.UTF_8), record);
    }

    private synchronized void count(int kind, byte[] line, int record) {
        if (closed) {
            return;
        }
        int i = kind - WOVEN >> 2;
        hooks.put(pack.number(kind), ++counts[i]);
        if (line == null || (told[record] & 1 << i) != 0 || line.length > pack.number(MOST_TEXT) - used) {
            return;
        }
        told[record] |= 1 << i;
        hooks.put(pack.number(TEXT) + used, line);
        used += line.length;
        hooks.put(pack.number(NAMES_USED), used);
    }

    /** From here on the arena is not touched. */
    synchronized void close() {
        closed = true;
    }
}
