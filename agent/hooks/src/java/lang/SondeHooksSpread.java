package java.lang;

import static java.lang.SondeHooks.U;
import static java.lang.SondeHooks.at;
import static sonde.layout.Layout.NODE_SPREAD;
import static sonde.layout.Layout.SPREAD_BUCKETS;
import static sonde.layout.Layout.SPREAD_SIZE;

/** How often a node's calls took how long: counts by buckets that grow with the time, as the layout says. */
final class SondeHooksSpread {
    private SondeHooksSpread() {
    }

    /** Has the class initialised by the agent, not by a hook. */
    static void prepare() {
    }

    /** Counts a time, where there is room to. The calling thread is marked as busy, and alone writes to the node. */
    static void add(long b, long node, long nanos) {
        int ref = U.getInt(null, node + NODE_SPREAD);
        if (ref == 0) {
            ref = SondeHooksTree.take(b, SPREAD_SIZE);
            if (ref == 0) {
                return;
            }
            U.putIntRelease(null, node + NODE_SPREAD, ref);
        }
        long count = at(b, ref) + 4L * bucket(nanos);
        U.putInt(null, count, U.getInt(null, count) + 1);
    }

    /** By shifts alone: what the JDK has to count leading zeros could be woven itself. */
    private static int bucket(long nanos) {
        int octave = 0;
        long left = nanos > 0 ? nanos : 0;
        while (left >= 256) {
            left >>>= 4;
            octave += 4;
        }
        while (left >= 16) {
            left >>>= 1;
            octave++;
        }
        int bucket = 8 * octave + (int) left;
        return bucket < SPREAD_BUCKETS ? bucket : SPREAD_BUCKETS - 1;
    }
}
