package sonde.agent.control;

import java.nio.charset.StandardCharsets;

/**
 * Records in the arena what happens to the classes of a pack, at once because a program may end at any time. No class is
 * loaded, and no thread waits, under its lock.
 */
final class PackAccount {
    /** The offsets in the pack's header of the places of counts, by kind. */
    static final int WOVEN = PackHeader.AT_WOVEN;
    static final int DIFFERS = PackHeader.AT_DIFFERS;
    static final int BLIND = PackHeader.AT_BLIND;
    static final int FAILED = PackHeader.AT_FAILED;
    private static final int KINDS = 4;

    private final PackFile pack;
    private final Hooks hooks;
    private final int[] counts = new int[KINDS];
    /** The recorded names, by their first records: a bit for each kind. */
    private final byte[] told;
    private int used;
    private boolean closed;
    private volatile boolean isEmpty = true;

    PackAccount(PackFile pack, Hooks hooks) {
        this.pack = pack;
        this.hooks = hooks;
        this.told = new byte[pack.count() + 1];
    }

    void woven() {
        count(WOVEN, null, 0);
    }

    /** Counts a class, and records its name once. */
    void leave(int kind, String name, int record) {
        String line = (kind == DIFFERS ? "differs " : kind == BLIND ? "blind " : "failed ") + name + "\n";
        count(kind, line.getBytes(StandardCharsets.UTF_8), record);
    }

    private synchronized void count(int kind, byte[] line, int record) {
        if (closed) {
            return;
        }
        isEmpty = false;
        int i = kind - WOVEN >> 2;
        hooks.put(pack.number(kind), ++counts[i]);
        if (line == null || (told[record] & 1 << i) != 0 || line.length > pack.number(PackHeader.TEXT_MOST) - used) {
            return;
        }
        told[record] |= 1 << i;
        hooks.put(pack.number(PackHeader.AT_TEXT) + used, line);
        used += line.length;
        hooks.put(pack.number(PackHeader.AT_NAMES_USED), used);
    }

    /** Whether no class of the pack was loaded. */
    boolean isEmpty() {
        return isEmpty;
    }

    /** From here on, the arena is not accessed. */
    synchronized void close() {
        closed = true;
    }
}
