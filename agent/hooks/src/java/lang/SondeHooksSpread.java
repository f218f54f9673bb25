package java.lang;

import static java.lang.SondeHooks.U;
import static java.lang.SondeHooks.at;
import static sonde.layout.Layout.NODE_SPREAD;
import static sonde.layout.Layout.SPREAD_BUCKETS;
import static sonde.layout.Layout.SPREAD_SIZE;

/** The distribution of the times of a node's calls: counts by buckets whose width grows with the time, as in the layout. */
final class SondeHooksSpread {
    private SondeHooksSpread() {
    }

    /** Lets the agent initialise the class, so that no hook does. */
    static void prepare() {
    }

    /** Counts a time if there is room. The calling thread is marked as busy, and no other thread writes to the node. */
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

    /** Uses only shifts: the JDK's method that counts leading zeros could be woven. */
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
