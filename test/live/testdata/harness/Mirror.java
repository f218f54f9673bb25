package harness;

import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.TypeVariable;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Stream;

/** All that reflection tells about classes, as sorted lines. No class is initialised by it. */
final class Mirror {
    private final TreeSet<String> lines = new TreeSet<>();

    private Mirror() {
    }

    /** Describes all classes in the packages of these workloads. */
    static String of(Collection<Workload> workloads) throws Exception {
        Mirror mirror = new Mirror();
        for (Workload workload : workloads) {
            Class<?> main = workload.getClass();
            URI root = main.getProtectionDomain().getCodeSource().getLocation().toURI();
            String directory = main.getPackageName().replace('.', '/');
            List<String> names;
            try (Stream<Path> files = Files.list(Path.of(root).resolve(directory))) {
                names = files.map(f -> f.getFileName().toString()).filter(f -> f.endsWith(".class")).toList();
            }
            for (String name : names) {
                String simple = name.substring(0, name.length() - ".class".length());
                mirror.type(Class.forName(main.getPackageName() + "." + simple, false, main.getClassLoader()));
            }
        }
        return String.join("\n", mirror.lines) + "\n";
    }

    private void type(Class<?> c) {
        String at = c.getName();
        line(at, "is", c.toGenericString());
        line(at, "modifiers", c.getModifiers());
        line(at, "extends", c.getAnnotatedSuperclass());
        line(at, "implements", Arrays.toString(c.getAnnotatedInterfaces()));
        line(at, "permits", Arrays.toString(c.getPermittedSubclasses()));
        line(at, "nest host", c.getNestHost());
        line(at, "nest members", sorted(c.getNestMembers()));
        line(at, "member classes", sorted(c.getDeclaredClasses()));
        line(at, "enclosed by", c.getEnclosingClass() + " " + c.getEnclosingMethod() + " " + c.getEnclosingConstructor());
        line(at, "kind", c.isRecord() + " " + c.isEnum() + " " + c.isSealed() + " " + c.isSynthetic() + " " + c.isHidden());
        annotations(at, c);
        variables(at, c.getTypeParameters());
        if (c.isRecord()) {
            RecordComponent[] components = c.getRecordComponents();
            for (int i = 0; i < components.length; i++) {
                component(at + " component " + i, components[i]);
            }
        }
        for (Field field : c.getDeclaredFields()) {
            String here = at + " field " + field.getName();
            line(here, "is", field.toGenericString() + " " + field.getModifiers());
            line(here, "type", field.getAnnotatedType());
            annotations(here, field);
        }
        for (Constructor<?> constructor : c.getDeclaredConstructors()) {
            executable(at + " " + constructor, constructor);
        }
        for (Method method : c.getDeclaredMethods()) {
            executable(at + " " + method, method);
            line(at + " " + method, "default", text(method.getDefaultValue()));
            line(at + " " + method, "kind", method.isBridge() + " " + method.isDefault());
        }
    }

    private void component(String at, RecordComponent component) {
        line(at, "is", component.getName() + " " + component.getGenericType() + " " + component.getGenericSignature());
        line(at, "type", component.getAnnotatedType());
        line(at, "accessor", component.getAccessor());
        annotations(at, component);
    }

    private void executable(String at, Executable e) {
        line(at, "is", e.toGenericString() + " " + e.getModifiers() + " " + e.isVarArgs() + " " + e.isSynthetic());
        line(at, "result", e.getAnnotatedReturnType());
        line(at, "receiver", e.getAnnotatedReceiverType());
        line(at, "throws", Arrays.toString(e.getAnnotatedExceptionTypes()));
        line(at, "generic parameters", Arrays.toString(e.getGenericParameterTypes()));
        line(at, "parameter annotations", Arrays.deepToString(e.getParameterAnnotations()));
        line(at, "annotated parameters", Arrays.toString(e.getAnnotatedParameterTypes()));
        annotations(at, e);
        variables(at, e.getTypeParameters());
        Parameter[] parameters = e.getParameters();
        for (int i = 0; i < parameters.length; i++) {
            Parameter p = parameters[i];
            String here = at + " parameter " + i;
            line(here, "is", p + " " + p.getModifiers() + " " + p.isNamePresent() + " " + p.isImplicit() + " " + p.isSynthetic());
            annotations(here, p);
        }
    }

    private void variables(String at, TypeVariable<?>[] variables) {
        for (TypeVariable<?> variable : variables) {
            String here = at + " variable " + variable;
            annotations(here, variable);
            for (AnnotatedType bound : variable.getAnnotatedBounds()) {
                line(here, "bound", bound);
            }
        }
    }

    private void annotations(String at, AnnotatedElement element) {
        Arrays.stream(element.getDeclaredAnnotations()).forEach(a -> line(at, "annotation", a));
    }

    private static String sorted(Class<?>[] classes) {
        return Arrays.stream(classes).map(Class::getName).sorted().toList().toString();
    }

    private static String text(Object value) {
        return value instanceof Object[] array ? Arrays.deepToString(array)
                : value instanceof int[] array ? Arrays.toString(array) : String.valueOf(value);
    }

    private void line(String at, String what, Object value) {
        lines.add(at + ": " + what + ": " + value);
    }
}
