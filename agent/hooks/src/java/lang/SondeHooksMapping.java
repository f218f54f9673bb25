package java.lang;

import static java.lang.SondeHooks.U;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import jdk.internal.access.foreign.UnmapperProxy;
import sun.nio.ch.DirectBuffer;
import sun.nio.ch.FileChannelImpl;

/**
 * An arena's file in memory, until {@link #end}. From JDK 18 on, a mapped buffer is created by reflection, for which a
 * starting JVM generates dozens of classes in tens of milliseconds; from JDK 21 on, memory segments avoid this.
 */
final class SondeHooksMapping {
    private static final long ADDRESS = U.objectFieldOffset(Buffer.class, "address");

    final long address;
    /** A ByteBuffer, or a segment. */
    private final Object mapped;
    private final UnmapperProxy unmapper;

    private SondeHooksMapping(ByteBuffer buffer) {
        mapped = buffer;
        unmapper = null;
        address = U.getLong(buffer, ADDRESS);
    }

    private SondeHooksMapping(MemorySegment segment, UnmapperProxy unmapper) {
        mapped = segment;
        this.unmapper = unmapper;
        address = segment.address();
    }

    static SondeHooksMapping of(FileChannel channel, long length) throws IOException {
        SondeHooksMapping made = segment(channel, length);
        return made != null ? made : new SondeHooksMapping(channel.map(FileChannel.MapMode.READ_WRITE, 0, length));
    }

    /** Null if this JDK has no segments, or they cannot be closed explicitly. */
    private static SondeHooksMapping segment(FileChannel channel, long length) {
        try {
            long unmapper = SondeHooksMembers.offset("jdk.internal.foreign.MappedMemorySegmentImpl", "unmapper");
            if (unmapper < 0) {
                return null;
            }
            MemorySegment segment = ((FileChannelImpl) channel).map(FileChannel.MapMode.READ_WRITE, 0, length, Arena.global());
            return new SondeHooksMapping(segment, (UnmapperProxy) SondeHooksMembers.reference(segment, unmapper));
        } catch (LinkageError | RuntimeException other) {
            return null;
        }
    }

    /** Before JDK 12, Unsafe has no such method; the replacement exists since JDK 9. */
    void end() {
        if (unmapper != null) {
            unmapper.unmap();
            return;
        }
        try {
            U.invokeCleaner((ByteBuffer) mapped);
        } catch (NoSuchMethodError e) {
            ((DirectBuffer) mapped).cleaner().clean();
        }
    }
}
