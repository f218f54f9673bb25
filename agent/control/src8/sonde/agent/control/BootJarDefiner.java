package sonde.agent.control;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.util.List;
import java.util.jar.JarFile;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/** Appends a jar to the boot class path, for Java 8, which has no modules. */
final class BootJarDefiner implements Definer {
    private final File folder;

    BootJarDefiner(File folder) {
        this.folder = folder;
    }

    @Override
    public void define(Instrumentation instrumentation, ClassLoader own, List<byte[]> classes, List<String> names)
            throws IOException, ClassNotFoundException {
        File file = new File(folder, "hooks.jar");
        try {
            ZipOutputStream out = new ZipOutputStream(new FileOutputStream(file));
            try {
                for (int i = 0; i < names.size(); i++) {
                    out.putNextEntry(new ZipEntry(names.get(i).replace('.', '/') + ".class"));
                    out.write(classes.get(i));
                }
            } finally {
                out.close();
            }
            JarFile jar = new JarFile(file);
            try {
                instrumentation.appendToBootstrapClassLoaderSearch(jar);
            } finally {
                jar.close();
            }
            for (String name : names) {
                Class.forName(name, false, null);
            }
        } finally {
            file.delete(); // the JVM has it open
        }
    }
}
