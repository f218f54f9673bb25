import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** Links classes of the JDK's own modules: the argument is a file of lines "module TAB class". */
public final class LinkModules {
    private LinkModules() {
    }

    public static void main(String[] args) throws Exception {
        Failures failures = new Failures();
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            String[] parts = line.split("\t");
            Optional<Module> module = ModuleLayer.boot().findModule(parts[0]);
            failures.attempt(parts[0], parts[1], ClassLoader.getSystemClassLoader(),
                    () -> module.isPresent() ? Class.forName(module.get(), parts[1]) : null);
        }
        failures.end();
        // Some classes start threads when they are linked by way of others; none is waited for.
        System.exit(0);
    }
}
