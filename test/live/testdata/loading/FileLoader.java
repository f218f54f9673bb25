package loading;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** A loader of the classes below a directory, which may show them less than its parent has. */
abstract class FileLoader extends ClassLoader {
    private final Path root;

    FileLoader(Path root, ClassLoader parent) {
        super(parent);
        this.root = root;
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        try {
            byte[] bytes = Files.readAllBytes(root.resolve(name.replace('.', '/') + ".class"));
            return defineClass(name, bytes, 0, bytes.length);
        } catch (NoSuchFileException e) {
            throw new ClassNotFoundException(name);
        } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
        }
    }

    /** Class files are resources here, as they are of every loader that reads them from files. */
    @Override
    public InputStream getResourceAsStream(String name) {
        try {
            return new ByteArrayInputStream(Files.readAllBytes(root.resolve(name)));
        } catch (IOException e) {
            return null;
        }
    }
}
