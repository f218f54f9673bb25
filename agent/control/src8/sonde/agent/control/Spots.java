package sonde.agent.control;

/** The table of spots, anchors and tag points, and further data for their hooks. */
final class Spots {
    /** The words of an entry, as the hooks read it. */
    private static final int WORDS = 4;

    private final boolean fresh;
    private final boolean bare;
    private final long[] table;
    private final String[] members;
    private final int[] positions;
    private final String[] bridges;

    private Spots(Received command) throws BadFrame {
        fresh = flag(command);
        bare = flag(command);
        table = new long[command.count(8)];
        for (int i = 0; i < table.length; i++) {
            table[i] = command.u64();
        }
        int count = command.count(8);
        members = new String[count];
        positions = new int[count];
        for (int i = 0; i < count; i++) {
            members[i] = command.string();
            positions[i] = command.u32();
        }
        bridges = new String[command.count(4)];
        for (int i = 0; i < bridges.length; i++) {
            bridges[i] = command.string();
        }
    }

    static Spots read(Received command) throws BadFrame {
        return new Spots(command);
    }

    private static boolean flag(Received command) throws BadFrame {
        int value = command.u8();
        if (value > 1) {
            throw new BadFrame("a flag is neither 0 nor 1");
        }
        return value == 1;
    }

    void set(Hooks hooks) throws Refusal {
        int entries = table.length / WORDS;
        if (entries * WORDS != table.length || (entries & entries - 1) != 0) {
            throw new Refusal("the size of the table of watches is not a power of two");
        }
        if (entries != 0 && !hasEnd()) { // an empty entry ends the search of hooks
            throw new Refusal("the table of watches has no empty entry");
        }
        hooks.watches(entries == 0 ? null : table, members, positions, bridges, fresh, bare);
    }

    private boolean hasEnd() {
        for (int at = 0; at < table.length; at += WORDS) {
            if (table[at] == 0) {
                return true;
            }
        }
        return false;
    }
}
