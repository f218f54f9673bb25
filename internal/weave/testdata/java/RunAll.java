import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Loads class files, each by a loader of its own, calls their method run(int) with -1 to 3, and prints what comes
 * back, with the number of templates that were entered and never left.
 */
public final class RunAll extends ClassLoader {
    private RunAll() {
    }

    public static void main(String[] folders) throws IOException {
        for (String folder : folders) {
            Path[] files;
            try (java.util.stream.Stream<Path> list = Files.list(java.nio.file.Paths.get(folder))) {
                files = list.sorted().toArray(Path[]::new);
            }
            for (Path file : files) {
                System.out.println(java.nio.file.Paths.get(folder).getFileName() + "/" + file.getFileName() + ":" + run(Files.readAllBytes(file)));
            }
        }
    }

    private static String run(byte[] data) {
        StringBuilder out = new StringBuilder();
        int before = Log.depth();
        try {
            Class<?> c = new RunAll().defineClass(null, data, 0, data.length);
            for (int i = -1; i <= 3; i++) {
                out.append(' ');
                try {
                    out.append(c.getMethod("run", int.class).invoke(null, i));
                } catch (InvocationTargetException e) {
                    out.append(e.getCause().toString().split("\n")[0]);
                }
            }
        } catch (Throwable e) {
            out.append(' ').append(e.toString().split("\n")[0]);
        }
        return out + " depth " + (Log.depth() - before);
    }
}
