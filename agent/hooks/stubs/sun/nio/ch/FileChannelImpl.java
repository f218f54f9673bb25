package sun.nio.ch;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;

/** What the hooks use of the JDK's own class, for the compiler; never packed. */
public abstract class FileChannelImpl extends FileChannel {
    public abstract MemorySegment map(FileChannel.MapMode mode, long offset, long size, Arena arena);
}
