package java.lang;

import static java.lang.SondeHooks.U;
import static java.lang.SondeHooksPlaces.BUSY;
import static java.lang.SondeHooksPlaces.LONGS;
import static java.lang.SondeHooksPlaces.MUTE_ONE;
import static java.lang.SondeHooksPlaces.PLACE_LONGS;
import static sonde.layout.Layout.*;

import java.io.IOException;
import java.nio.channels.FileChannel;

/**
 * Controls the hooks for the agent. One thread of the agent at a time calls it: its worker in a session; with a pack the
 * first thread of the program until the agent has its own. Other threads may call
 *
 * <ul>
 *   <li>mute, unmute and tid: any thread;
 *   <li>probes, change and watches: any thread of the agent;
 *   <li>get and put: any thread, also of the program where it loads a class of a pack. Callers ensure that none is running
 *       when {@link #off} is called, and that none follows.
 * </ul>
 *
 * <p>Every class of the program can find this one, and its methods can crash the JVM. So each requires a key that only code
 * with access to native memory can have: the JDK's internal Unsafe, whose package is exported to the agent alone.
 *
 * <p>The mapping is kept here because the class loader of the agent is discarded: if a thread may still be in a hook,
 * the arena stays mapped.
 */
public final class SondeHooksControl {
    /** A switch table for calibration calls, while all other hooks are off. */
    private static final long[] CALIBRATION_ALONE = {0, (long) CALIBRATION_ID << 32};

    private static SondeHooksMapping mapping;

    private SondeHooksControl() {
    }

    private static void check(Object key) {
        if (key != U) {
            throw new SecurityException("only Sonde's agent may control its hooks");
        }
    }

    /** Sets the arena of the hooks, which is the beginning of a file; the hooks stay off. */
    public static void open(Object key, FileChannel file, long length, int epoch) throws IOException {
        check(key);
        if (mapping != null) {
            throw new IllegalStateException("an arena is mapped already");
        }
        SondeHooksMapping arena = SondeHooksMapping.of(file, length);
        boolean isOpen = false;
        try {
            open(arena, epoch);
            isOpen = true;
        } finally {
            if (!isOpen) {
                arena.end();
            }
        }
    }

    private static void open(SondeHooksMapping arena, int epoch) {
        long address = arena.address;
        if (U.getLong(null, address + HEADER_MAGIC) != MAGIC || U.getInt(null, address + HEADER_VERSION) != VERSION
                || U.getInt(null, address + HEADER_EPOCH) != epoch || epoch <= 0 || epoch > MOST_EPOCH) {
            throw new IllegalArgumentException("not an arena of this version");
        }
        if (epoch == SondeHooks.epoch) {
            throw new IllegalArgumentException("the arena has the same number as the previous one; try again");
        }
        if (U.getLongVolatile(SondeHooksTree.GATE, SondeHooksTree.GATE_AT) != 0) { // initialises it, before any hook does
            throw new IllegalStateException("a thread is still in a hook of an earlier session; try again later");
        }
        SondeHooksAbsence.prepare();
        SondeHooksArrivals.prepare();
        SondeHooksSpread.prepare();
        SondeHooksRing.prepare();
        SondeHooksTransaction.prepare();
        SondeHooksTrace.prepare();
        SondeHooksParent.prepare();
        SondeHooksWatches.prepare();
        mapping = arena;
        SondeHooks.epoch = epoch; // first, since places are made with it
        SondeHooksPlaces.second = null;
        SondeHooksPlaces.crowded = false;
        SondeHooksPath.renew();
        SondeHooksPlaces.firstThreads = new Thread[1 << SondeHooksPlaces.FIRST_BITS];
        SondeHooksPlaces.firstStates = new SondeHooksState[1 << SondeHooksPlaces.FIRST_BITS];
        SondeHooksWatch.nearby = SondeHooksPlaces.make(SondeHooksPlaces.FIRST_BITS);
        SondeHooksPlaces.first = SondeHooksWatch.nearby;
        U.putLong(null, address + HEADER_OPENED_NANOS, System.nanoTime());
        SondeHooks.base = address;
    }

    /** Sets the switch table, whose length is a power of two; null switches every hook off. */
    public static synchronized void probes(Object key, long[] table) {
        check(key);
        if (SondeHooks.base != 0) {
            prepareFor(table);
            SondeHooks.probes = table;
        }
    }

    /** Prepares hooks with these settings; if this fails, they must not be switched on. */
    private static void prepareFor(long... entries) {
        for (int i = 0; entries != null && i < entries.length; i++) {
            if ((entries[i] & CALLERS) != 0) {
                SondeHooksCallers.prepare();
            }
            if ((entries[i] & TRACED) != 0) {
                SondeHooksLabels.prepare();
            }
        }
    }

    /**
     * Sets entries of the switch table in place, each atomically.
     *
     * @return false if there is no table, or if it would have no empty entry, at which searches end; then
     *     nothing is changed
     */
    public static synchronized boolean change(Object key, long[] entries) {
        check(key);
        long[] table = SondeHooks.probes;
        if (table == null || table == CALIBRATION_ALONE) {
            return false;
        }
        int empty = 0;
        for (long entry : table) {
            empty += entry == 0 ? 1 : 0;
        }
        for (long entry : entries) {
            empty -= table[slot(table, entry)] == 0 ? 1 : 0;
        }
        if (empty <= 0) {
            return false;
        }
        prepareFor(entries);
        for (long entry : entries) {
            table[slot(table, entry)] = entry;
        }
        return true;
    }

    /** The index of the entry of an id, or where it would be. */
    private static int slot(long[] table, long entry) {
        int mask = table.length - 1;
        int at = (int) (entry >>> 32) & mask;
        while (table[at] != 0 && table[at] >>> 32 != entry >>> 32) {
            at = at + 1 & mask;
        }
        return at;
    }

    /**
     * Sets the table of spots, anchors and tag points; null switches them off. The anchors are given as
     * class.name(descriptor) with their positions, and the bridge methods by name.
     *
     * @param fresh positions have a new meaning, so that the paths of all threads are reset
     * @param bare tasks carry no contexts to other threads
     */
    public static synchronized void watches(Object key, long[] table, String[] members, int[] positions, String[] bridges, boolean fresh, boolean bare) {
        check(key);
        if (SondeHooks.base != 0) {
            if (table != null) {
                SondeHooksHandOff.begin();
            }
            SondeHooksWatches.set(table, members, positions, bridges, fresh, bare);
        }
    }

    /**
     * Sets the table of a pack, whose words are in its bytes from an offset on, in native byte order. A pack has no
     * hooks that pass contexts to other threads.
     */
    public static synchronized void watches(Object key, byte[] pack, int at, int words, String[] members, int[] positions, String[] bridges) {
        check(key);
        if (SondeHooks.base != 0) {
            long[] table = new long[words];
            U.copyMemory(pack, bytes() + at, table, LONGS, 8L * words);
            SondeHooksWatches.set(table, members, positions, bridges, false, false);
        }
    }

    /** Makes the JVM compile the hooks of a pack, by calls of a muted thread; see {@link SondeHooksRehearsal#summon}. */
    public static long summon(Object key, int calls) {
        check(key);
        return SondeHooksRehearsal.summon(calls);
    }

    /** Shows compilers all that the hooks of a pack do before the program needs them; see {@link SondeHooksRehearsal}. */
    public static void rehearse(Object key, int calls, long deadline) {
        check(key);
        SondeHooksRehearsal.run(calls, deadline);
    }

    /** Where the elements of a byte[] begin; see {@link SondeHooksPlaces#LONGS}. */
    private static long bytes() {
        byte[] marked = {0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0x5a};
        long at = 8;
        while (U.getInt(marked, at) != 0x5a5a5a5a || U.getInt(marked, at + 4) != 0x5a5a5a5a) {
            at += 4;
        }
        return at;
    }

    /** A number in the arena, which the caller keeps mapped; 0 if the hooks are off. */
    public static long get(Object key, int at) {
        check(key);
        long b = SondeHooks.base;
        return b == 0 ? 0 : U.getLongVolatile(null, b + at);
    }

    /** Sets a number. */
    public static void put(Object key, int at, long number) {
        check(key);
        long b = SondeHooks.base;
        if (b != 0) {
            U.putLongRelease(null, b + at, number);
        }
    }

    /** Sets a 32-bit number. */
    public static void put(Object key, int at, int number) {
        check(key);
        long b = SondeHooks.base;
        if (b != 0) {
            U.putIntRelease(null, b + at, number);
        }
    }

    /** Sets bytes. */
    public static void put(Object key, int at, byte[] bytes) {
        check(key);
        long b = SondeHooks.base;
        for (int i = 0; b != 0 && i < bytes.length; i++) {
            U.putByte(null, b + at + i, bytes[i]);
        }
    }

    /** Sets whether members that are called by reflection and through handles are reported to Sonde. */
    public static synchronized void follow(Object key, boolean on) {
        check(key);
        if (on && SondeHooks.base != 0) {
            SondeHooksMembers.begin();
            SondeHooks.following = true;
        } else {
            stopFollowing();
        }
    }

    private static void stopFollowing() {
        if (SondeHooks.following) { // otherwise its class may not be initialised
            SondeHooks.following = false;
            SondeHooksMembers.end();
        }
    }

    /** Disables the hooks for calls that begin after the next safepoint. */
    public static synchronized void off(Object key) {
        check(key);
        SondeHooks.probes = null;
        stopFollowing();
        SondeHooksWatches.forget();
        SondeHooksCallers.forget();
        SondeHooks.base = 0;
    }

    /**
     * Unmaps the arena once no thread is in a hook. {@link #off} and a safepoint must precede it.
     *
     * @return whether it is unmapped; otherwise, after the time limit, it stays mapped
     */
    public static boolean retire(Object key, long boundNanos) {
        check(key);
        if (mapping == null) {
            return true;
        }
        long start = System.nanoTime();
        if (!isQuiet(SondeHooksPlaces.first, start, boundNanos) || !isQuiet(SondeHooksPlaces.second, start, boundNanos)) {
            return false;
        }
        while (U.getLongVolatile(SondeHooksTree.GATE, SondeHooksTree.GATE_AT) != 0) {
            if (isLate(start, boundNanos)) {
                return false;
            }
        }
        SondeHooksWatch.nearby = null;
        SondeHooksPlaces.first = null;
        SondeHooksPlaces.second = null;
        SondeHooksPlaces.firstThreads = null;
        SondeHooksPlaces.secondThreads = null;
        SondeHooksPlaces.firstStates = null;
        SondeHooksPlaces.secondStates = null;
        mapping.end();
        mapping = null;
        return true;
    }

    private static boolean isQuiet(long[] places, long start, long boundNanos) {
        for (int at = BUSY / 8; places != null && at < places.length; at += PLACE_LONGS) {
            while (U.getLongVolatile(places, LONGS + 8L * at) != 0) {
                sweepPlaces(); // a thread that was killed in a hook never leaves it
                if (isLate(start, boundNanos)) {
                    return false;
                }
            }
        }
        return true;
    }

    private static boolean isLate(long start, long boundNanos) {
        if (System.nanoTime() - start > boundNanos) {
            return true;
        }
        Thread.yield();
        return false;
    }

    /** Mutes the calling thread: its calls are not measured until as many calls of {@link #unmute}. */
    public static void mute(Object key) {
        mute(key, Thread.currentThread());
    }

    /** Mutes another thread, which must have no running call. */
    public static void mute(Object key, Thread thread) {
        check(key);
        SondeHooksPlaces.mute(thread, MUTE_ONE);
    }

    /** Undoes one {@link #mute}. */
    public static void unmute(Object key) {
        check(key);
        SondeHooksPlaces.mute(Thread.currentThread(), -MUTE_ONE);
    }

    /** Frees the places, with their blocks, of threads that have ended. */
    public static void sweep(Object key) {
        check(key);
        sweepPlaces();
        SondeHooksHandOff.sweep();
        SondeHooksLabels.catchUp();
    }

    private static void sweepPlaces() {
        SondeHooksPlaces.sweep(SondeHooksPlaces.first, SondeHooksPlaces.firstThreads);
        SondeHooksPlaces.sweep(SondeHooksPlaces.second, SondeHooksPlaces.secondThreads);
    }

    /** Creates more places if threads found none. */
    public static void relieve(Object key) {
        check(key);
        if (SondeHooksPlaces.crowded && SondeHooksPlaces.second == null && SondeHooksPlaces.first != null) {
            SondeHooksPlaces.secondThreads = new Thread[1 << SondeHooksPlaces.SECOND_BITS];
            SondeHooksPlaces.secondStates = new SondeHooksState[1 << SondeHooksPlaces.SECOND_BITS];
            SondeHooksPlaces.second = SondeHooksPlaces.make(SondeHooksPlaces.SECOND_BITS);
        }
    }

    /** Whether a process with access to the arena has requested the removal of the hooks. */
    public static boolean isStopAsked(Object key) {
        check(key);
        long b = SondeHooks.base;
        return b != 0 && U.getIntVolatile(null, b + HEADER_STOP) != 0;
    }

    /**
     * Makes calls of a body without hooks, and as many with hooks of a setting. The calling
     * thread must not be muted.
     *
     * @param into gets nanoseconds: without hooks, with hooks, and as measured by the hooks; and the
     *     number of calls
     * @return whether this ended before the deadline, with the hooks on all the time
     */
    public static boolean calibrate(Object key, int rounds, int setting, int body, int steps, long deadline, long[] into) {
        check(key);
        long[] table = calibrationTable(setting);
        int at = SondeHooksCalibration.entry(table);
        if (at < 0) {
            return false;
        }
        table[at] = (long) CALIBRATION_ID << 32 | (setting | ON) & ~(DISCOVER | LATE | TRACED) & 0xffffffffL;
        try {
            return SondeHooksCalibration.run(rounds, body, steps, deadline, into) && SondeHooks.probes == table;
        } finally {
            table[at] = (long) CALIBRATION_ID << 32;
            endCalibration(table);
        }
    }

    /** The switch table; if all hooks are off, a table for calibration calls only. */
    private static synchronized long[] calibrationTable(int setting) {
        long[] table = SondeHooks.probes;
        if (SondeHooks.base != 0) {
            prepareFor(setting);
        }
        if (table == null && SondeHooks.base != 0) {
            table = CALIBRATION_ALONE;
            SondeHooks.probes = table;
        }
        return table;
    }

    private static synchronized void endCalibration(long[] table) {
        if (table == CALIBRATION_ALONE && SondeHooks.probes == table) {
            SondeHooks.probes = null;
        }
    }

    /** A thread's id as the hooks see it. */
    public static long tid(Object key, Thread thread) {
        check(key);
        return U.getLong(thread, SondeHooks.TID);
    }
}
