package sonde.agent.control;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** A connection over a Unix socket. */
public final class UnixLine implements Line, Lines.Dialled {
    /** The JDK copies written data to a buffer that it keeps for the thread; this limits its size. */
    private static final int MOST_AT_ONCE = 64 << 10;

    /**
     * Classes that compiled code of the JDK's channels loads when it first runs. Loading them while a class waits for Sonde
     * would block the thread that receives the answer.
     */
    private static final String[] LOADED_LATE = {
        "jdk.internal.foreign.MemorySessionImpl", "jdk.internal.access.foreign.MemorySegmentProxy",
        "jdk.internal.misc.ScopedMemoryAccess$Scope",
    };

    private SocketChannel channel;

    /** Called by name: older JDKs cannot load this class. */
    public UnixLine() {
    }

    @Override
    public Line dial(String path) throws IOException {
        for (String name : LOADED_LATE) {
            load(name);
        }
        channel = SocketChannel.open(StandardProtocolFamily.UNIX);
        try {
            channel.connect(UnixDomainSocketAddress.of(path));
        } catch (IOException | RuntimeException e) {
            close();
            throw e;
        }
        return this;
    }

    private static void load(String name) {
        try {
            Class.forName(name, false, null);
        } catch (ClassNotFoundException | LinkageError contained) {
            // This JDK has no such class.
        }
    }

    @Override
    public int read(byte[] into, int offset, int count) throws IOException {
        return channel.read(ByteBuffer.wrap(into, offset, Math.min(count, MOST_AT_ONCE)));
    }

    @Override
    public void write(byte[] from) throws IOException {
        for (int at = 0; at < from.length;) {
            at += channel.write(ByteBuffer.wrap(from, at, Math.min(from.length - at, MOST_AT_ONCE)));
        }
    }

    @Override
    public void endOutput() throws IOException {
        channel.shutdownOutput();
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException contained) {
            // The connection is not used any more.
        }
    }
}
