package sonde.agent.control;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.RandomAccessFile;

/**
 * The only class that calls hook classes: it can be linked only after {@link HookClasses} has found or defined them.
 *
 * <p>An instance is one mapped arena.
 */
final class Hooks {
    private static final long RETIRE_NANOS = 2000000000L;
    /** The largest arena that hooks can address: 24 bits of units of 64 bytes. */
    private static final long MOST_BYTES = 1L << 30;
    private static final String OWN_THREADS = "sonde-";
    /** What the hooks require of their caller. */
    private static final Object KEY = HookClasses.key;

    private final File file;

    private Hooks(File file) {
        this.file = file;
    }

    /**
     * Maps an arena. Before a hook can be on, the agent's threads among these are muted: those that do not mute themselves
     * belong to the stub, or to a Sonde that will be refused.
     */
    static Hooks map(String path, long length, int epoch, Thread[] live) throws IOException {
        File file = new File(path);
        if (length <= 0 || length > MOST_BYTES) {
            throw new IOException("an arena of " + length + " bytes cannot be mapped");
        }
        if (file.length() < length) {
            throw new FileNotFoundException(path + " does not exist or is shorter than " + length + " bytes");
        }
        RandomAccessFile opened = new RandomAccessFile(file, "rw");
        try {
            SondeHooksControl.open(KEY, opened.getChannel(), length, epoch);
        } finally {
            opened.close();
        }
        for (Thread thread : live) {
            if (isOurs(thread)) {
                SondeHooksControl.mute(KEY, thread);
            }
        }
        return new Hooks(file);
    }

    /** Maps an arena before the program starts. */
    static Hooks open(RandomAccessFile opened, long length, int epoch, File file) throws IOException {
        SondeHooksControl.open(KEY, opened.getChannel(), length, epoch);
        return new Hooks(file);
    }

    /** Except the calling thread, which must be muted only once and mutes itself. */
    private static boolean isOurs(Thread thread) {
        ThreadGroup group = thread.getThreadGroup(); // null if it has ended
        return thread != Thread.currentThread() && thread.isDaemon() && group != null && group.getParent() == null
                && thread.getName().startsWith(OWN_THREADS);
    }

    /** Disables hooks of an earlier session that were not removed. */
    static void offLeft() {
        SondeHooksControl.off(KEY);
    }

    /** Tries again to unmap the arena of an earlier session; a safepoint must have passed since {@link #offLeft}. */
    static boolean retireLeft() {
        return SondeHooksControl.retire(KEY, RETIRE_NANOS);
    }

    /** Keeps the calling thread out of the arena of any session. */
    static void muteInAny() {
        SondeHooksControl.mute(KEY);
    }

    void probes(long[] table) {
        SondeHooksControl.probes(KEY, table);
    }

    boolean change(long[] entries) {
        return SondeHooksControl.change(KEY, entries);
    }

    void watches(long[] table, String[] members, int[] positions, String[] bridges, boolean fresh, boolean bare) {
        SondeHooksControl.watches(KEY, table, members, positions, bridges, fresh, bare);
    }

    /** Sets the table of a pack. */
    void watches(byte[] pack, int at, int words, String[] members, int[] positions, String[] bridges) {
        SondeHooksControl.watches(KEY, pack, at, words, members, positions, bridges);
    }

    /** A number in the arena. As for the next three methods, the caller must keep the arena mapped. */
    long get(int at) {
        return SondeHooksControl.get(KEY, at);
    }

    void put(int at, long number) {
        SondeHooksControl.put(KEY, at, number);
    }

    void put(int at, int number) {
        SondeHooksControl.put(KEY, at, number);
    }

    void put(int at, byte[] bytes) {
        SondeHooksControl.put(KEY, at, bytes);
    }

    void follow(boolean on) {
        SondeHooksControl.follow(KEY, on);
    }

    void off() {
        SondeHooksControl.off(KEY);
    }

    /** Called after {@link #off} and a safepoint. Returns false if the arena had to stay mapped. */
    boolean retire() {
        return SondeHooksControl.retire(KEY, RETIRE_NANOS);
    }

    void deleteFile() {
        file.delete();
    }

    void mute() {
        SondeHooksControl.mute(KEY);
    }

    void unmute() {
        SondeHooksControl.unmute(KEY);
    }

    /** Frees the places of threads that have ended. */
    void sweep() {
        SondeHooksControl.sweep(KEY);
    }

    /** Makes room for more threads if needed. */
    void relieve() {
        SondeHooksControl.relieve(KEY);
    }

    boolean isStopAsked() {
        return SondeHooksControl.isStopAsked(KEY);
    }

    /** Called by a thread that is muted once; its calls are measured for this time. */
    boolean calibrate(int rounds, int setting, int body, int steps, long deadline, long[] into) {
        SondeHooksControl.unmute(KEY);
        try {
            return SondeHooksControl.calibrate(KEY, rounds, setting, body, steps, deadline, into);
        } finally {
            SondeHooksControl.mute(KEY);
        }
    }

    /** Makes the JVM compile the hooks; see {@code SondeHooksRehearsal}. The calling thread must be muted. */
    long summon(int calls) {
        return SondeHooksControl.summon(KEY, calls);
    }

    /** Called like {@link #calibrate}. */
    void rehearse(int calls, long deadline) {
        SondeHooksControl.unmute(KEY);
        try {
            SondeHooksControl.rehearse(KEY, calls, deadline);
        } finally {
            SondeHooksControl.mute(KEY);
        }
    }

    long tid(Thread thread) {
        return SondeHooksControl.tid(KEY, thread);
    }
}
