package sonde.agent.control;

import java.io.EOFException;
import java.io.IOException;

/** Reads frames from a connection. */
final class FrameReader {
    /** The maximum length before the peer is authenticated: that of a WELCOME. */
    static final int MOST_BEFORE_PROOF = 4096;
    static final int MOST = 64 << 20;
    private static final int HEAD_BYTES = 1 + 4;

    private final Line line;

    FrameReader(Line line) {
        this.line = line;
    }

    Received next(int most) throws IOException {
        int length = new Received(0, 0, read(4)).u32();
        if (length < HEAD_BYTES || length > most) {
            throw new BadFrame("it has an impossible length");
        }
        Received head = new Received(0, 0, read(HEAD_BYTES));
        int kind = head.u8();
        return new Received(kind, head.u32(), read(length - HEAD_BYTES));
    }

    private byte[] read(int count) throws IOException {
        byte[] bytes = new byte[count];
        for (int at = 0; at < count;) {
            int n = line.read(bytes, at, count - at);
            if (n < 0) {
                throw new EOFException();
            }
            at += n;
        }
        return bytes;
    }
}
