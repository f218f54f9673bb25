package sonde.rt;

/**
 * Methods and their counters: an open-addressed hash table by id, where the identity of their names
 * distinguishes methods that share an id. One thread writes it; others may walk {@link #cells} at any time, and miss
 * at most what is being added.
 */
final class TimedTable {
    private static final int INITIAL_CELLS = 16;

    /** A power of two long, at most three quarters full. Volatile: replaced as a whole when it grows. */
    private volatile TimedCell[] cells = new TimedCell[INITIAL_CELLS];

    private int used;

    /** Returns the cell of a method, created if needed. */
    TimedCell cell(int id, String name) {
        TimedCell[] table = cells;
        int mask = table.length - 1;
        int at = slot(id, mask);
        for (TimedCell cell = table[at]; cell != null; cell = table[at]) {
            if (cell.id == id && cell.name == name) {
                return cell;
            }
            at = at + 1 & mask;
        }
        return add(new TimedCell(id, name));
    }

    /** Adds the counters of all methods in {@code other}, as they stand at {@code now}. */
    void merge(TimedTable other, long now) {
        TimedCell[] table = other.cells;
        for (int i = 0; i < table.length; i++) {
            TimedCell from = table[i];
            if (from != null) {
                TimedCell to = cell(from.id, from.name);
                to.calls += from.calls;
                to.nanos += from.nanosUntil(now);
            }
        }
    }

    /** Returns the cells in no particular order, without gaps. */
    TimedCell[] cells() {
        TimedCell[] table = cells;
        TimedCell[] packed = new TimedCell[used];
        int n = 0;
        for (int i = 0; i < table.length; i++) {
            if (table[i] != null) {
                packed[n++] = table[i];
            }
        }
        return packed;
    }

    private TimedCell add(TimedCell cell) {
        if (used >= cells.length / 4 * 3) {
            grow();
        }
        insert(cells, cell);
        used++;
        return cell;
    }

    private void grow() {
        TimedCell[] old = cells;
        TimedCell[] larger = new TimedCell[old.length * 2];
        for (int i = 0; i < old.length; i++) {
            if (old[i] != null) {
                insert(larger, old[i]);
            }
        }
        cells = larger;
    }

    private static void insert(TimedCell[] table, TimedCell cell) {
        int mask = table.length - 1;
        int at = slot(cell.id, mask);
        while (table[at] != null) {
            at = at + 1 & mask;
        }
        table[at] = cell;
    }

    /** Related names have related ids, so all bits are used. */
    private static int slot(int id, int mask) {
        return (id ^ id >>> 16) & mask;
    }
}
