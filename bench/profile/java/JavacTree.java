import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/**
 * Compiles a large tree of sources with the compiler's own interface, to nowhere. Every source of the folder
 * "tree" names is compiled in many packages, which gives hundreds of classes that use each other.
 */
final class JavacTree implements RealProgram.Work {
    private static final AtomicLong SOURCES = RealProgram.counter("sources");
    private static final AtomicLong CLASSES = RealProgram.counter("classes");

    private final JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    private final JavaFileManager files = new Nowhere(compiler.getStandardFileManager(null, null, StandardCharsets.UTF_8));
    private final List<JavaFileObject> sources = new ArrayList<>();

    JavacTree() throws IOException {
        int copies = Integer.getInteger("copies");
        for (String folder : System.getProperty("tree").split(":")) {
            try (Stream<Path> all = Files.list(Path.of(folder))) {
                List<Path> found = all.filter(p -> p.toString().endsWith(".java")).sorted().toList();
                for (int copy = 0; copy < copies; copy++) {
                    String name = folder.replaceAll("[^a-z]+", "_") + "_" + copy;
                    found.forEach(p -> sources.add(new Source(name, p)));
                }
            }
        }
    }

    @Override
    public String round() {
        if (!compiler.getTask(null, files, null, List.of("-nowarn", "-proc:none"), null, sources).call()) {
            throw new IllegalStateException("the tree does not compile");
        }
        return "";
    }

    /** A source moved to a package of its own. */
    private static final class Source extends SimpleJavaFileObject {
        private final String text;

        Source(String name, Path path) {
            super(URI.create("tree:///" + name + "/" + path.getFileName()), Kind.SOURCE);
            try {
                text = "package " + name + "; " + Files.readString(path);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public CharSequence getCharContent(boolean ignore) {
            SOURCES.incrementAndGet();
            return text;
        }
    }

    private static final class Nowhere extends ForwardingJavaFileManager<JavaFileManager> {
        Nowhere(JavaFileManager manager) {
            super(manager);
        }

        @Override
        public JavaFileObject getJavaFileForOutput(Location place, String name, JavaFileObject.Kind kind, FileObject sibling) {
            CLASSES.incrementAndGet();
            return new SimpleJavaFileObject(URI.create("nowhere:///" + name.replace('.', '/') + kind.extension), kind) {
                @Override
                public OutputStream openOutputStream() {
                    return OutputStream.nullOutputStream();
                }
            };
        }
    }
}
