package sonde.agent.control;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** A received frame with a reading position. */
final class Received {
    final int kind;
    final int request;
    private final byte[] body;
    private int position;

    Received(int kind, int request, byte[] body) {
        this.kind = kind;
        this.request = request;
        this.body = body;
    }

    int u8() throws BadFrame {
        need(1);
        return body[position++] & 255;
    }

    int u32() throws BadFrame {
        need(4);
        int value = 0;
        for (int i = 0; i < 4; i++) {
            value = value << 8 | body[position++] & 255;
        }
        return value;
    }

    long u64() throws BadFrame {
        return (long) u32() << 32 | u32() & 0xffffffffL;
    }

    byte[] bytes() throws BadFrame {
        int length = u32();
        need(length);
        position += length;
        return Arrays.copyOfRange(body, position - length, position);
    }

    String string() throws BadFrame {
        return new String(bytes(), StandardCharsets.UTF_8);
    }

    /** Reads the number of the following elements, each of at least {@code size} bytes. */
    int count(int size) throws BadFrame {
        int count = u32();
        if (count < 0 || count > (body.length - position) / size) {
            throw new BadFrame("its count exceeds its length");
        }
        return count;
    }

    int[] numbers() throws BadFrame {
        int[] numbers = new int[count(4)];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = u32();
        }
        return numbers;
    }

    void end() throws BadFrame {
        if (position != body.length) {
            throw new BadFrame("there is data after its last field");
        }
    }

    private void need(int count) throws BadFrame {
        if (count < 0 || count > body.length - position) {
            throw new BadFrame("it ends before its last field");
        }
    }
}
