package java.lang;

import static java.lang.SondeHooks.TID;
import static java.lang.SondeHooks.U;
import static java.lang.SondeHooksPlaces.BUSY;
import static java.lang.SondeHooksPlaces.TOKEN;
import static sonde.layout.Layout.*;

import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * The number of calls that the spots of a probe may count together, in all threads. A call takes one from memory that all
 * threads share, so that exactly as many are counted. Only hooks of probes that have such a limit come here.
 */
final class SondeHooksQuota {
    private SondeHooksQuota() {
    }

    /** Lets the agent initialise the class, so that no hook does. */
    static void prepare() {
    }

    /** The number of the quota of a spot, by the fourth word of its entry; 0 if it has none. */
    @ForceInline
    static int of(long fourth) {
        return ((int) fourth & WATCH_QUEUED - 1) >>> WATCH_QUOTA_SHIFT;
    }

    /** Whether a call may count. It takes one of the quota, unless it only asks whether any are left. */
    @DontInline
    static boolean admits(int quota, boolean takes) {
        long tid = U.getLong(Thread.currentThread(), TID);
        int index = SondeHooksPlaces.claim(tid);
        long[] places = SondeHooksPlaces.table(index);
        long place = SondeHooksPlaces.offset(index);
        if (index < 0 || places == null || U.getLong(places, place) != tid) {
            return admitsElsewhere(quota, takes);
        }
        long then = U.getLong(places, place + TOKEN) >>> TOKEN_EPOCH_SHIFT;
        boolean admits = false;
        U.putLongOpaque(places, place + BUSY, 1);
        try {
            long b = SondeHooks.base;
            if (b != 0 && SondeHooks.epoch == then) {
                admits = take(b, quota, takes);
            }
        } finally {
            U.putLongRelease(places, place + BUSY, 0);
        }
        if (!admits) {
            SondeHooksPlaces.giveUpIfEmpty(places, place);
        }
        return admits;
    }

    /** Is {@link #admits} for a thread without a place. */
    private static boolean admitsElsewhere(int quota, boolean takes) {
        U.getAndAddLong(SondeHooksTree.GATE, SondeHooksTree.GATE_AT, 1);
        try {
            long b = SondeHooks.base;
            return b != 0 && take(b, quota, takes);
        } finally {
            U.getAndAddLong(SondeHooksTree.GATE, SondeHooksTree.GATE_AT, -1);
        }
    }

    /** Is {@link #admits} for a thread whose place is marked as busy. */
    static boolean take(long b, int quota, boolean takes) {
        int ref = U.getIntVolatile(null, b + HEADER_QUOTAS);
        if (ref == 0 || quota < 1 || quota > QUOTAS_MOST) {
            return false;
        }
        long at = SondeHooks.at(b, ref) + (long) (quota - 1) * QUOTA_SIZE;
        long most = U.getLongVolatile(null, at + QUOTA_MOST);
        long taken;
        do {
            taken = U.getLongVolatile(null, at + QUOTA_TAKEN); // read first: after the end, nothing is written any more
            if (taken >= most) {
                return false;
            }
        } while (takes && !U.compareAndSetLong(null, at + QUOTA_TAKEN, taken, taken + 1));
        return true;
    }
}
