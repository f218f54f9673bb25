package natives;

import harness.Harness;
import harness.Way;

import java.util.Random;
import java.util.zip.Deflater;

/** A hot native method of the JDK, by two ways. */
public final class Main implements Harness.Fixture {
    private static final Way ARCHIVE = Way.to("java/util/zip/Deflater");
    private static final Way WIRE = Way.to("java/util/zip/Deflater");

    private final byte[] text = new byte[4_096];

    public Main() {
        Random letters = new Random(1);
        for (int i = 0; i < text.length; i++) {
            text[i] = (byte) ('a' + letters.nextInt(letters.nextInt(25) + 1));
        }
    }

    @Override
    public long turn() {
        long began = ARCHIVE.begin();
        long sum = archive();
        ARCHIVE.end(began);
        began = WIRE.begin();
        sum += send();
        WIRE.end(began);
        return sum;
    }

    private long archive() {
        return pack(new Deflater(), 2) + 1;
    }

    private long send() {
        return pack(new Deflater(), 1);
    }

    private long pack(Deflater deflater, int times) {
        Way.here();
        byte[] packed = new byte[2 * text.length];
        long sum = 0;
        for (int i = 0; i < times; i++) {
            deflater.reset();
            deflater.setInput(text);
            deflater.finish();
            sum += deflater.deflate(packed);
        }
        deflater.end();
        return sum;
    }
}
