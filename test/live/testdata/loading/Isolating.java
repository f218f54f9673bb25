package loading;

import java.nio.file.Path;

/** Like the loader of an OSGi bundle without imports: nothing but java.* comes from elsewhere. */
final class Isolating extends FileLoader {
    Isolating(Path root) {
        super(root, null);
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        synchronized (getClassLoadingLock(name)) {
            if (name.startsWith("java.")) {
                return super.loadClass(name, resolve);
            }
            Class<?> known = findLoadedClass(name);
            return known != null ? known : findClass(name);
        }
    }
}
