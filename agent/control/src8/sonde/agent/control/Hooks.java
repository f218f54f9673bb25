package sonde.agent.control;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/**
 * The one class that calls hook classes: it can be linked only when those are defined.
 *
 * <p>An instance is one mapped arena.
 */
final class Hooks {
    private static final long RETIRE_NANOS = 2000000000L;

    private final File file;

    private Hooks(File file) {
        this.file = file;
    }

    static Hooks map(String path, long length, int epoch) throws IOException {
        File file = new File(path);
        if (length <= 0 || length > Integer.MAX_VALUE) {
            throw new IOException("an arena of " + length + " bytes cannot be mapped");
        }
        if (file.length() < length) {
            throw new FileNotFoundException(path + " is not there, or shorter than " + length + " bytes");
        }
        RandomAccessFile opened = new RandomAccessFile(file, "rw");
        try {
            ByteBuffer arena = opened.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, length);
            SondeHooksControl.open(arena, epoch);
        } finally {
            opened.close();
        }
        return new Hooks(file);
    }

    /** Tries again to unmap what an earlier session had to leave mapped; a safepoint must have passed since that. */
    static boolean retireLeft() {
        return SondeHooksControl.retire(RETIRE_NANOS);
    }

    void probes(long[] table) {
        SondeHooksControl.probes(table);
    }

    void off() {
        SondeHooksControl.off();
    }

    /** To be called when a safepoint has passed since {@link #off}. False where the arena had to stay mapped. */
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

    /** The platform threads that have room in the arena. */
    long[] owners() {
        return SondeHooksControl.owners();
    }

    /** Frees the room of a thread that has ended. */
    void release(long tid) {
        SondeHooksControl.release(tid);
    }

    /** Makes room for more threads where it became scarce. */
    void relieve() {
        SondeHooksControl.relieve();
    }

    boolean isStopAsked() {
        return SondeHooksControl.isStopAsked();
    }

    /** To be called by a thread that is muted once: calls that are not measured would tell nothing. */
    long calibrate(int rounds, int flags) {
        SondeHooksControl.unmute();
        try {
            return SondeHooksControl.calibrate(rounds, flags);
        } finally {
            SondeHooksControl.mute();
        }
    }

    long tid(Thread thread) {
        return SondeHooksControl.tid(thread);
    }
}
