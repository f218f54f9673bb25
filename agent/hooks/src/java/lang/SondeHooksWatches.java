package java.lang;

import static sonde.layout.Layout.ON;
import static sonde.layout.Layout.TRACED;
import static sonde.layout.Layout.WATCH_QUEUED;
import static sonde.layout.Layout.WATCH_WORDS;

/** Controls spots, anchors and tag points for the agent: prepares everything that their hooks need before they are on. */
final class SondeHooksWatches {
    private SondeHooksWatches() {
    }

    /** Lets the agent initialise the classes, so that no hook does. */
    static void prepare() {
        SondeHooksPath.prepare();
        SondeHooksWatch.prepare();
        SondeHooksQuota.prepare();
        SondeHooksDirect.prepare();
        SondeHooksTags.prepare();
        SondeHooksRecord.prepare();
        SondeHooksTexts.prepare();
        SondeHooksHandOff.prepare();
        SondeHooksPart.prepare();
        SondeHooksPool.prepare();
    }

    /** Replaces the table. */
    static void set(long[] table, String[] members, int[] positions, String[] bridges, boolean fresh, boolean bare) {
        if (fresh) {
            SondeHooksWatch.watches = null;
            SondeHooksPath.renew();
        }
        if (table != null) {
            SondeHooksTexts.begin();
            boolean labels = false;
            boolean rows = false;
            for (int at = 0; at < table.length; at += WATCH_WORDS) {
                labels |= (table[at] & ON) != 0 && ((table[at] & TRACED) != 0 || (table[at + 3] & SondeHooksWatch.GROUPING) != 0);
                rows |= table[at + 3] >>> 32 != 0;
            }
            if (labels) {
                SondeHooksLabels.prepare();
            }
            if (rows) {
                SondeHooksCallers.prepare();
            }
            if (rows || members.length != 0) {
                SondeHooksDirect.set(members, positions, bridges);
            }
        }
        boolean timed = false;
        for (int at = 0; table != null && at < table.length; at += WATCH_WORDS) {
            timed |= (table[at] & ON) != 0 && (table[at + 3] & WATCH_QUEUED) != 0;
        }
        SondeHooksHandOff.set(timed, bare);
        SondeHooksWatch.watches = table == null ? null : only(table);
    }

    /**
     * Returns a table of the entries that are on, with the current mark: other hooks find an empty entry, mostly at once. If
     * all are on, it is the given table, so that a program that starts with a large table does not wait for a copy.
     */
    private static long[] only(long[] table) {
        boolean all = true;
        for (int at = 0; at < table.length && all; at += WATCH_WORDS) {
            all = table[at] == 0 || (table[at] & ON) != 0;
        }
        if (all) {
            for (int at = 0; at < table.length; at += WATCH_WORDS) {
                if (table[at] != 0) {
                    table[at + 2] |= SondeHooksPath.mark;
                }
            }
            return table;
        }
        long[] on = new long[table.length];
        for (int from = 0; from < table.length; from += WATCH_WORDS) {
            if ((table[from] & ON) == 0) {
                continue;
            }
            int at = (int) (table[from] >>> 32) * WATCH_WORDS & on.length - 1;
            while (on[at] != 0) {
                at = at + WATCH_WORDS & on.length - 1;
            }
            for (int i = 0; i < WATCH_WORDS; i++) {
                on[at + i] = table[from + i];
            }
            on[at + 2] |= SondeHooksPath.mark;
        }
        return on;
    }

    /** Switches all off, and forgets labels and callers. */
    static void forget() {
        SondeHooksWatch.watches = null;
        SondeHooksHandOff.end();
        SondeHooksLabels.forget();
        SondeHooksDirect.forget();
        SondeHooksTexts.forget();
    }
}
