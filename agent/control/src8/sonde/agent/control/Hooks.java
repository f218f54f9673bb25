package sonde.agent.control;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.RandomAccessFile;

/**
 * The only class that calls hook classes: it can be linked only after they are defined.
 *
 * <p>An instance is one mapped arena.
 */
final class Hooks {
    private static final long RETIRE_NANOS = 2000000000L;
    /** The largest arena that hooks can address: 24 bits of units of 64 bytes. */
    private static final long MOST_BYTES = 1L << 30;
    private static final String OWN_THREADS = "sonde-";

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
            SondeHooksControl.open(opened.getChannel(), length, epoch);
        } finally {
            opened.close();
        }
        for (Thread thread : live) {
            if (isOurs(thread)) {
                SondeHooksControl.mute(thread);
            }
        }
        return new Hooks(file);
    }

    /** Maps an arena before the program starts. */
    static Hooks open(RandomAccessFile opened, long length, int epoch, File file) throws IOException {
        SondeHooksControl.open(opened.getChannel(), length, epoch);
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
        SondeHooksControl.off();
    }

    /** Tries again to unmap the arena of an earlier session; a safepoint must have passed since {@link #offLeft}. */
    static boolean retireLeft() {
        return SondeHooksControl.retire(RETIRE_NANOS);
    }

    /** Keeps the calling thread out of the arena of any session. */
    static void muteInAny() {
        SondeHooksControl.mute();
    }

    void probes(long[] table) {
        SondeHooksControl.probes(table);
    }

    boolean change(long[] entries) {
        return SondeHooksControl.change(entries);
    }

    void watches(long[] table, String[] members, int[] positions, String[] bridges, boolean fresh) {
        SondeHooksControl.watches(table, members, positions, bridges, fresh);
    }

    /** Sets the table of a pack. */
    void watches(byte[] pack, int at, int words, String[] members, int[] positions, String[] bridges) {
        SondeHooksControl.watches(pack, at, words, members, positions, bridges);
    }

    /** A number in the arena. As for the next three methods, the caller must keep the arena mapped. */
    long get(int at) {
        return SondeHooksControl.get(at);
    }

    void put(int at, long number) {
        SondeHooksControl.put(at, number);
    }

    void put(int at, int number) {
        SondeHooksControl.put(at, number);
    }

    void put(int at, byte[] bytes) {
        SondeHooksControl.put(at, bytes);
    }

    void follow(boolean on) {
        SondeHooksControl.follow(on);
    }

    void off() {
        SondeHooksControl.off();
    }

    /** Called after {@link #off} and a safepoint. Returns false if the arena had to stay mapped. */
    boolean retire() {
        return SondeHooksControl.retire(RETIRE_NANOS);
    }

    void deleteFile() {
        file.delete();
    }

    void mute() {
        SondeHooksControl.mute();
    }

    void unmute() {
        SondeHooksControl.unmute();
    }

    /** Frees the places of threads that have ended. */
    void sweep() {
        SondeHooksControl.sweep();
    }

    /** Makes room for more threads if needed. */
    void relieve() {
        SondeHooksControl.relieve();
    }

    boolean isStopAsked() {
        return SondeHooksControl.isStopAsked();
    }

    /** Called by a thread that is muted once; its calls are measured for this time. */
    boolean calibrate(int rounds, int setting, int body, int steps, long deadline, long[] into) {
        SondeHooksControl.unmute();
        try {
            return SondeHooksControl.calibrate(rounds, setting, body, steps, deadline, into);
        } finally {
            SondeHooksControl.mute();
        }
    }

    /** Makes the JVM compile the hooks; see {@code SondeHooksRehearsal}. The calling thread must be muted. */
    long summon(int calls) {
        return SondeHooksControl.summon(calls);
    }

    /** Called like {@link #calibrate}. */
    void rehearse(int calls, long deadline) {
        SondeHooksControl.unmute();
        try {
            SondeHooksControl.rehearse(calls, deadline);
        } finally {
            SondeHooksControl.mute();
        }
    }

    long tid(Thread thread) {
        return SondeHooksControl.tid(thread);
    }
}
