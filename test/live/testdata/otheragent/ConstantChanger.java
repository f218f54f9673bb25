package otheragent;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.ProtectionDomain;

/** Puts one text, or one whole number, in the place of another in a class's constant pool. */
final class ConstantChanger implements ClassFileTransformer {
    private static final int UTF8 = 1;
    private static final int INTEGER = 3;
    private final String type;
    private final String from;
    private final String to;

    ConstantChanger(String type, String from, String to) {
        this.type = type.replace('.', '/');
        this.from = from;
        this.to = to;
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> being, ProtectionDomain domain, byte[] bytes) {
        if (!type.equals(name)) {
            return null;
        }
        try {
            return change(bytes);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private byte[] change(byte[] bytes) throws IOException {
        ByteBuffer in = ByteBuffer.wrap(bytes);
        ByteArrayOutputStream result = new ByteArrayOutputStream(bytes.length + 64);
        DataOutputStream out = new DataOutputStream(result);
        out.write(bytes, 0, 10); // magic, versions, number of constants
        in.position(8);
        int count = Short.toUnsignedInt(in.getShort());
        for (int i = 1; i < count; i++) {
            int start = in.position();
            int tag = in.get();
            int size = size(tag, in);
            in.position(start + 1 + size);
            if (tag == UTF8 && from.equals(new String(bytes, start + 3, size - 2, StandardCharsets.UTF_8))) {
                out.write(UTF8);
                out.writeUTF(to);
            } else if (tag == INTEGER && from.equals(Integer.toString(in.getInt(start + 1)))) {
                out.write(INTEGER);
                out.writeInt(Integer.parseInt(to));
            } else {
                out.write(bytes, start, 1 + size);
            }
            if (tag == 5 || tag == 6) { // long and double take two numbers
                i++;
            }
        }
        out.write(bytes, in.position(), in.remaining());
        return result.toByteArray();
    }

    private static int size(int tag, ByteBuffer in) {
        return switch (tag) {
            case UTF8 -> 2 + Short.toUnsignedInt(in.getShort(in.position()));
            case INTEGER, 4, 9, 10, 11, 12, 17, 18 -> 4;
            case 5, 6 -> 8;
            case 7, 8, 16, 19, 20 -> 2;
            case 15 -> 3;
            default -> throw new IllegalStateException("unknown constant " + tag);
        };
    }
}
