import java.io.File;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/**
 * Retransforms classes and tells what reflection sees of them before and after.
 *
 * <pre>
 * Witness directory step,step... class...
 * </pre>
 *
 * A step is what the transformer answers: {@code null}, {@code given} (the bytes it
 * was given), {@code file} (the class's own file), or {@code @suffix} (the contents
 * of directory/class.suffix). {@code look} as the only step just leaves the bytes of all
 * classes, retransformed at once. "loaded" for a class stands for every class that is
 * loaded when the program begins.
 *
 * In the directory it leaves class.file and, for step n, class.n (what was given).
 * It prints "class step lost|gained|failed text", and "ready" at the end.
 */
public final class Witness {
    private static Instrumentation instrumentation;

    public static void premain(String arguments, Instrumentation i) {
        instrumentation = i;
    }

    public static void main(String[] args) throws Exception {
        Path directory = Path.of(args[0]);
        String[] steps = args[1].split(",");
        List<Class<?>> classes = new ArrayList<>();
        for (int i = 2; i < args.length; i++) {
            if (args[i].equals("loaded")) {
                for (Class<?> c : instrumentation.getAllLoadedClasses()) {
                    if (instrumentation.isModifiableClass(c) && !c.isHidden() && !c.isArray()) {
                        classes.add(c);
                    }
                }
                continue;
            }
            try {
                classes.add(Class.forName(args[i]));
            } catch (Throwable e) {
                continue; // what it needs is not there
            }
        }
        if (steps[0].equals("look")) {
            look(directory, classes);
            return;
        }
        for (Class<?> c : classes) {
            byte[] file = fileOf(c);
            if (file == null) {
                continue;
            }
            write(directory, c, "file", file);
            TreeSet<String> before = Description.of(c);
            for (int n = 0; n < steps.length; n++) {
                step(directory, c, n, steps[n], file, before);
            }
        }
        System.out.println("ready");
    }

    /** Writes files and what is given, of all classes at once, and changes nothing. */
    private static void look(Path directory, List<Class<?>> classes) throws Exception {
        List<Class<?>> found = new ArrayList<>();
        for (Class<?> c : classes) {
            byte[] file = fileOf(c);
            if (file != null && !c.isHidden()) {
                write(directory, c, "file", file);
                found.add(c);
            }
        }
        ClassFileTransformer transformer = new ClassFileTransformer() {
            @Override
            public byte[] transform(ClassLoader l, String name, Class<?> redefined, ProtectionDomain d, byte[] bytes) {
                try {
                    if (redefined != null) {
                        write(directory, redefined, "0", bytes);
                    }
                } catch (Exception e) {
                    System.out.println(name + " 0:look failed " + e);
                }
                return null;
            }
        };
        instrumentation.addTransformer(transformer, true);
        retransform(found);
        System.out.println("ready");
    }

    /** Retransforms all; where the JVM refuses them together, each half by itself. */
    private static void retransform(List<Class<?>> classes) {
        try {
            instrumentation.retransformClasses(classes.toArray(new Class<?>[0]));
        } catch (Throwable e) {
            int half = classes.size() / 2;
            if (half == 0) {
                System.out.println(classes.get(0).getName() + " 0:look failed " + e);
                return;
            }
            retransform(classes.subList(0, half));
            retransform(classes.subList(half, classes.size()));
        }
    }

    private static void step(Path directory, Class<?> c, int n, String step, byte[] file, TreeSet<String> before)
            throws Exception {
        byte[][] given = new byte[1][];
        byte[] fixed = step.equals("file") ? file
            : step.startsWith("@") ? Files.readAllBytes(directory.resolve(c.getName() + "." + step.substring(1))) : null;
        ClassFileTransformer transformer = new ClassFileTransformer() {
            @Override
            public byte[] transform(ClassLoader l, String name, Class<?> redefined, ProtectionDomain d, byte[] bytes) {
                if (redefined != c) {
                    return null;
                }
                given[0] = bytes;
                return step.equals("given") ? bytes.clone() : fixed;
            }
        };
        String prefix = c.getName() + " " + n + ":" + step + " ";
        instrumentation.addTransformer(transformer, true);
        try {
            instrumentation.retransformClasses(c);
        } catch (Throwable e) {
            System.out.println(prefix + "failed " + e);
        } finally {
            instrumentation.removeTransformer(transformer);
        }
        if (given[0] != null) {
            write(directory, c, Integer.toString(n), given[0]);
        }
        TreeSet<String> after = Description.of(c);
        for (String line : before) {
            if (!after.contains(line)) {
                System.out.println(prefix + "lost " + line);
            }
        }
        for (String line : after) {
            if (!before.contains(line)) {
                System.out.println(prefix + "gained " + line);
            }
        }
    }

    private static byte[] fileOf(Class<?> c) throws Exception {
        String path = c.getName().replace('.', '/') + ".class";
        InputStream in = c.getClassLoader() == null
            ? Object.class.getResourceAsStream("/" + path) : c.getClassLoader().getResourceAsStream(path);
        if (in == null) {
            return null;
        }
        try (in) {
            return in.readAllBytes();
        }
    }

    private static void write(Path directory, Class<?> c, String suffix, byte[] bytes) throws Exception {
        try (FileOutputStream out = new FileOutputStream(new File(directory.toFile(), c.getName() + "." + suffix))) {
            out.write(bytes);
        }
    }
}
