package sonde.agent;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.security.AllPermission;
import java.security.Permissions;
import java.security.ProtectionDomain;
import java.util.HashMap;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;

/**
 * Loads the control classes of one session. The jar is read once and closed; only the threads of the session refer to
 * the loader, so that it is collected when they end.
 */
final class StubLoader extends ClassLoader {
    /** A folder that hides the classes from the program's loader, which has the jar on its path. */
    static final String PREFIX = "META-INF/sonde/";

    private final Map<String, byte[]> contents = new HashMap<String, byte[]>();
    private final ProtectionDomain domain;

    StubLoader(String jar) throws IOException {
        super(null);
        Permissions all = new Permissions();
        all.add(new AllPermission());
        domain = new ProtectionDomain(null, all);
        ZipInputStream in = new ZipInputStream(new FileInputStream(jar));
        try {
            for (ZipEntry entry = in.getNextEntry(); entry != null; entry = in.getNextEntry()) {
                if (entry.getName().startsWith(PREFIX) && !entry.isDirectory()) {
                    contents.put(entry.getName().substring(PREFIX.length()), read(in));
                }
            }
        } finally {
            in.close();
        }
    }

    private static byte[] read(InputStream in) throws IOException {
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        byte[] chunk = new byte[8192];
        for (int n = in.read(chunk); n >= 0; n = in.read(chunk)) {
            content.write(chunk, 0, n);
        }
        return content.toByteArray();
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        byte[] bytes = contents.get(name.replace('.', '/') + ".class");
        if (bytes == null) {
            throw new ClassNotFoundException(name);
        }
        return defineClass(name, bytes, 0, bytes.length, domain);
    }

    @Override
    public InputStream getResourceAsStream(String name) {
        byte[] bytes = contents.get(name);
        return bytes == null ? null : new ByteArrayInputStream(bytes);
    }
}
