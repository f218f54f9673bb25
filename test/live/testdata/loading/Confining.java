package loading;

import java.nio.file.Path;
import java.util.Set;

/** Shows its classes only what stands on a list, of java.lang too: hooks are not on it. */
final class Confining extends FileLoader {
    private static final Set<String> LIST = Set.of("java.lang.Object", "java.lang.String", "java.lang.System",
            "java.lang.Throwable", "java.lang.RuntimeException", "java.lang.IllegalStateException",
            "java.util.Map", "java.util.Properties", "java.util.concurrent.atomic.LongAdder");

    Confining(Path root) {
        super(root, null);
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        synchronized (getClassLoadingLock(name)) {
            if (LIST.contains(name)) {
                return super.loadClass(name, resolve);
            }
            if (!name.startsWith("loading.fresh.")) {
                throw new ClassNotFoundException(name + " is not on the list");
            }
            Class<?> known = findLoadedClass(name);
            return known != null ? known : findClass(name);
        }
    }
}
