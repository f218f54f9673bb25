import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.StringWriter;
import java.net.URI;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** Compiles one source again and again: the class files' digests, and what javac says of a wrong one. */
final class JavacWork implements RealProgram.Work {
    private static final String GOOD = """
            import java.util.*;
            import java.util.function.*;
            import java.util.stream.*;
            class Good<T extends Comparable<T>> {
                sealed interface Shape permits Circle, Square { }
                record Circle(double radius) implements Shape { }
                record Square(double side) implements Shape { }
                enum Mode { FAST { int cost() { return 1; } }, SLOW; int cost() { return 10; } }
                static double area(Shape s) {
                    return s instanceof Circle c ? Math.PI * c.radius() * c.radius() : ((Square) s).side() * 2;
                }
                Map<String, List<T>> group(Collection<T> all, Function<? super T, String> key) {
                    return all.stream().sorted(Comparator.reverseOrder()).collect(Collectors.groupingBy(key, TreeMap::new, Collectors.toList()));
                }
                int choose(String word, int... numbers) {
                    try (AutoCloseable c = () -> { throw new IllegalStateException(word); }) {
                        return switch (word) { case "a", "b" -> numbers.length; case "c" -> { int s = 0; for (int n : numbers) s += n; yield s; } default -> -1; };
                    } catch (Exception e) { return e.hashCode(); } finally { numbers[0]++; }
                }
            }
            """;
    private static final String WRONG = "class Wrong { int f(String s) { return s; } void g() { missing(); } Unknown u; }";

    private final JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();

    @Override
    public String round() throws Exception {
        return compile("Good", GOOD) + compile("Wrong", WRONG);
    }

    private String compile(String name, String text) throws Exception {
        StringWriter said = new StringWriter();
        Map<String, ByteArrayOutputStream> written = new TreeMap<>();
        JavaFileObject source = new SimpleJavaFileObject(URI.create("string:///" + name + ".java"), JavaFileObject.Kind.SOURCE) {
            @Override
            public CharSequence getCharContent(boolean ignore) {
                return text;
            }
        };
        try (Written files = new Written(compiler.getStandardFileManager(null, null, null), written)) {
            Boolean good = compiler.getTask(said, files, null, List.of("-g", "-proc:none", "-Xlint:none"), null, List.of(source)).call();
            StringBuilder result = new StringBuilder(name + " " + good + "\n" + said);
            for (Map.Entry<String, ByteArrayOutputStream> file : written.entrySet()) {
                byte[] digest = MessageDigest.getInstance("SHA-256").digest(file.getValue().toByteArray());
                result.append(file.getKey()).append(' ').append(HexFormat.of().formatHex(digest)).append('\n');
            }
            return result.toString();
        }
    }

    private static final class Written extends ForwardingJavaFileManager<JavaFileManager> {
        private final Map<String, ByteArrayOutputStream> files;

        Written(JavaFileManager manager, Map<String, ByteArrayOutputStream> files) {
            super(manager);
            this.files = files;
        }

        @Override
        public JavaFileObject getJavaFileForOutput(Location place, String name, JavaFileObject.Kind kind, FileObject sibling) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            files.put(name, bytes);
            return new SimpleJavaFileObject(URI.create("memory:///" + name.replace('.', '/') + kind.extension), kind) {
                @Override
                public OutputStream openOutputStream() {
                    return bytes;
                }
            };
        }
    }
}
