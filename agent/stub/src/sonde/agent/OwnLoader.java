package sonde.agent;

import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.security.AllPermission;
import java.security.Permissions;
import java.security.ProtectionDomain;
import java.util.HashMap;
import java.util.Map;

/**
 * Loads the control classes of the agent's jar while the JVM starts, so it is minimal: the jar is read at once, and the
 * build does not compress its entries. It fulfils the contract of {@link Stub}.
 */
final class OwnLoader extends ClassLoader {
    private static final int MOST_BYTES = 16 << 20;
    private static final int HEADER = 0x04034b50;
    private static final int HEADER_BYTES = 30;

    private final byte[] jar;
    /** The offset and the length of an entry. */
    private final Map<String, int[]> entries = new HashMap<String, int[]>(256);
    private final ProtectionDomain domain;

    /** Finds the jar of this class. */
    OwnLoader() throws Exception {
        super(null);
        Permissions all = new Permissions();
        all.add(new AllPermission());
        domain = new ProtectionDomain(null, all);
        jar = read(file());
        int at = 0;
        while (at + HEADER_BYTES <= jar.length && number(at) == HEADER) {
            at = add(at);
        }
    }

    /** The agent's jar. */
    static File file() throws Exception {
        return new File(OwnLoader.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    }

    private static byte[] read(File file) throws IOException {
        int length = (int) Math.min(file.length(), MOST_BYTES);
        byte[] content = new byte[length];
        InputStream in = new FileInputStream(file);
        try {
            int read = 0;
            for (int n = 1; read < length && n > 0; read += Math.max(n, 0)) {
                n = in.read(content, read, length - read);
            }
        } finally {
            in.close();
        }
        return content;
    }

    /** Adds the entry whose header is here; returns the offset of the next one. Flags and compression method are zero. */
    private int add(int at) throws IOException {
        int length = number(at + 18);
        int name = at + HEADER_BYTES;
        int nameLength = number(at + 26) & 0xffff;
        int content = name + nameLength + (number(at + 26) >>> 16);
        if ((number(at + 6) & 0xffffff) != 0 || length < 0 || length != number(at + 22) || content > jar.length - length) {
            throw new IOException("the agent's jar is damaged or was changed; write it again with `sonde agent-jar`");
        }
        if (nameLength > StubLoader.PREFIX.length()) {
            String path = new String(jar, name, nameLength, "UTF-8");
            if (path.startsWith(StubLoader.PREFIX)) {
                entries.put(path.substring(StubLoader.PREFIX.length()), new int[] {content, length});
            }
        }
        return content + length;
    }

    private int number(int at) {
        return jar[at] & 0xff | (jar[at + 1] & 0xff) << 8 | (jar[at + 2] & 0xff) << 16 | jar[at + 3] << 24;
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        int[] entry = entries.get(name.replace('.', '/') + ".class");
        if (entry == null) {
            throw new ClassNotFoundException(name);
        }
        return defineClass(name, jar, entry[0], entry[1], domain);
    }

    @Override
    public InputStream getResourceAsStream(String name) {
        int[] entry = entries.get(name);
        return entry == null ? null : new ByteArrayInputStream(jar, entry[0], entry[1]);
    }
}
