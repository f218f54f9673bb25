package sonde.agent.control;

import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;

/** The data that the build wrote into the jar: its own name, then the names of the hook classes, first the class that woven code calls. */
final class Build {
    static final boolean IS_JAVA_8 = System.getProperty("java.specification.version", "").startsWith("1.");
    private static final int MOST_BYTES = 1 << 20;

    private final ClassLoader loader;
    /** Where the hooks for this JDK are. */
    private final String folder = IS_JAVA_8 ? "8/" : "";
    final String id;
    final String[] hookClasses;

    Build(ClassLoader loader) throws IOException {
        this.loader = loader;
        String[] lines = new String(read(folder + "build"), "UTF-8").split("\n");
        id = lines[0];
        hookClasses = new String[lines.length - 1];
        System.arraycopy(lines, 1, hookClasses, 0, hookClasses.length);
    }

    byte[] hookClass(String name) throws IOException {
        return read(folder + name + ".class");
    }

    private byte[] read(String name) throws IOException {
        InputStream in = loader.getResourceAsStream(name);
        if (in == null) {
            throw new FileNotFoundException(name);
        }
        byte[] content = new byte[in.available()]; // everything, because the stub provides it from memory
        if (in.read(content) == content.length && in.read() < 0) {
            return content;
        }
        return readAll(loader.getResourceAsStream(name), MOST_BYTES);
    }

    /** Reads to the end, or one byte more than {@code most}: the input may be endless. */
    static byte[] readAll(InputStream in, int most) throws IOException {
        try {
            ByteArrayOutputStream content = new ByteArrayOutputStream();
            byte[] chunk = new byte[8192];
            for (int n = in.read(chunk); n > 0 && content.size() <= most; n = in.read(chunk)) {
                content.write(chunk, 0, Math.min(n, most + 1 - content.size()));
            }
            return content.toByteArray();
        } finally {
            in.close();
        }
    }
}
