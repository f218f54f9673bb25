import java.lang.annotation.Annotation;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Loads all classes of java.base, and lists the methods that HotSpot may replace, as reflection sees their annotations. */
public class Annotated {
    public static void main(String[] args) throws Exception {
        Path base = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules/java.base");
        List<String> names;
        try (Stream<Path> files = Files.walk(base)) {
            names = files.map(file -> base.relativize(file).toString()).filter(name -> name.endsWith(".class")).collect(Collectors.toList());
        }
        for (String name : names) {
            String internal = name.substring(0, name.length() - ".class".length());
            if (internal.equals("module-info")) {
                continue;
            }
            Class<?> type = Class.forName(internal.replace('/', '.'), false, null);
            for (Method m : type.getDeclaredMethods()) {
                print(internal, m, m.getName(), m.getReturnType());
            }
            for (Constructor<?> c : type.getDeclaredConstructors()) {
                print(internal, c, "<init>", void.class);
            }
        }
    }

    private static void print(String type, Executable member, String name, Class<?> returned) {
        for (Annotation annotation : member.getDeclaredAnnotations()) {
            if (annotation.annotationType().getName().endsWith("IntrinsicCandidate")) {
                System.out.println("annotated " + type + "." + name + MethodType.methodType(returned, member.getParameterTypes()).toMethodDescriptorString());
            }
        }
    }
}
