import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Loads class files, each by a loader of its own, and initialises them, which links and verifies
 * them first. Prints "ok" or the error for each.
 */
final class LoadAll extends ClassLoader {
    private LoadAll() {}

    public static void main(String[] files) throws IOException {
        for (String file : files) {
            byte[] data = Files.readAllBytes(Path.of(file));
            String verdict = "ok";
            try {
                Class<?> c = new LoadAll().defineClass(null, data, 0, data.length);
                Class.forName(c.getName(), true, c.getClassLoader());
            } catch (Throwable e) {
                verdict = e.toString().lines().findFirst().orElse("unknown error");
            }
            System.out.println(Path.of(file).getFileName() + " " + verdict);
        }
    }
}
