import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Links classes of jars. The first argument is a file of lines "jar TAB class", the second the folder of these
 * jars, the third a path of jars and folders that all of them may need. Each jar has a loader of its own, which
 * looks into that jar first and then into all others.
 */
public final class LinkJars {
    private LinkJars() {
    }

    public static void main(String[] args) throws Exception {
        Map<String, List<String>> classes = new LinkedHashMap<>();
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            String[] parts = line.split("\t");
            classes.computeIfAbsent(parts[0], jar -> new ArrayList<>()).add(parts[1]);
        }
        List<URL> common = new ArrayList<>();
        for (String entry : args[2].isEmpty() ? new String[0] : args[2].split(":")) {
            common.add(Path.of(entry).toUri().toURL());
        }
        for (String jar : classes.keySet()) {
            common.add(url(args[1], jar));
        }
        Failures failures = new Failures();
        for (Map.Entry<String, List<String>> each : classes.entrySet()) {
            List<URL> path = new ArrayList<>();
            path.add(url(args[1], each.getKey()));
            path.addAll(common);
            ClassLoader parent = ClassLoader.getPlatformClassLoader();
            try (URLClassLoader loader = new URLClassLoader("jar", path.toArray(new URL[0]), parent)) {
                for (String name : each.getValue()) {
                    failures.attempt(each.getKey(), name, loader, () -> Class.forName(name, false, loader));
                }
            }
        }
        failures.end();
        System.exit(0);
    }

    private static URL url(String folder, String jar) throws Exception {
        return Path.of(folder, jar).toUri().toURL();
    }
}
