package sonde.agent.control;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** A frame being written: length, kind, request, then what is added. */
final class Frame {
    private static final int LENGTH_BYTES = 4;

    private byte[] bytes = new byte[64];
    private int end;

    Frame(int kind, int request) {
        u32(0); // the length, set later
        u8(kind);
        u32(request);
    }

    static Frame text(int kind, int request, String text) {
        return new Frame(kind, request).string(text);
    }

    Frame u8(int value) {
        room(1);
        bytes[end++] = (byte) value;
        return this;
    }

    Frame u16(int value) {
        return u8(value >>> 8).u8(value);
    }

    Frame u32(int value) {
        return u16(value >>> 16).u16(value);
    }

    Frame u64(long value) {
        return u32((int) (value >>> 32)).u32((int) value);
    }

    Frame bytes(byte[] value) {
        return u32(value.length).raw(value, value.length);
    }

    Frame string(String value) {
        return bytes(value.getBytes(StandardCharsets.UTF_8));
    }

    /** Adds a sequence that was counted while it was written. */
    Frame counted(int count, Frame elements) {
        u32(count);
        int start = LENGTH_BYTES + 1 + 4;
        int length = elements.end - start;
        room(length);
        System.arraycopy(elements.bytes, start, bytes, end, length);
        end += length;
        return this;
    }

    int size() {
        return end;
    }

    /** The whole frame, ready to be sent. */
    byte[] finish() {
        int length = end - LENGTH_BYTES;
        for (int i = 0; i < LENGTH_BYTES; i++) {
            bytes[i] = (byte) (length >>> 8 * (LENGTH_BYTES - 1 - i));
        }
        return end == bytes.length ? bytes : Arrays.copyOf(bytes, end);
    }

    private Frame raw(byte[] value, int length) {
        room(length);
        System.arraycopy(value, 0, bytes, end, length);
        end += length;
        return this;
    }

    private void room(int more) {
        if (bytes.length - end < more) {
            bytes = Arrays.copyOf(bytes, Math.max(bytes.length * 2, end + more));
        }
    }
}
