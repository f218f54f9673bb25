import java.io.IOException;
import java.lang.annotation.Annotation;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/** What reflection tells about methods: annotations everywhere, generic signatures, exceptions, modifiers. */
public final class Annotated {
    @Retention(RetentionPolicy.RUNTIME)
    @interface Mark {
        String value() default "none";

        int[] numbers() default {1, 2};

        Class<?> type() default Object.class;
    }

    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.TYPE_USE)
    @interface Use {
        int value();
    }

    @Mark("method")
    @Deprecated
    protected static synchronized <T extends @Use(1) Comparable<T>> @Use(2) List<T> generic(
            @Mark(numbers = {}) final T first, @Use(3) int @Use(4) [] second) throws @Use(5) IOException {
        @Use(6) List<@Use(7) T> local = List.of(first);
        try {
            if (second.length == 0 && (Object) local instanceof @Use(8) List) {
                throw new @Use(9) IOException("empty");
            }
        } catch (@Use(10) IllegalStateException e) {
            return null;
        }
        return local;
    }

    @Mark(type = String.class)
    Annotated(@Mark String only) {
    }

    @Mark
    strictfp double strict(double... values) {
        return values.length;
    }

    /** The order in which an annotation's own toString names its members is not defined. */
    static String show(Annotation[] annotations) {
        StringBuilder text = new StringBuilder();
        for (Annotation each : annotations) {
            text.append('@').append(each.annotationType().getSimpleName());
            if (each instanceof Mark mark) {
                text.append('(').append(mark.value()).append(Arrays.toString(mark.numbers())).append(mark.type().getName()).append(')');
            }
        }
        return text.toString();
    }

    public static void main(String[] args) throws Exception {
        Method[] methods = Annotated.class.getDeclaredMethods();
        Arrays.sort(methods, Comparator.comparing(Method::getName));
        for (Method method : methods) {
            System.out.println(method.toGenericString());
            System.out.println("  " + show(method.getAnnotations()));
            System.out.println("  returns " + method.getAnnotatedReturnType());
            for (AnnotatedType thrown : method.getAnnotatedExceptionTypes()) {
                System.out.println("  throws " + thrown);
            }
            for (Parameter parameter : method.getParameters()) {
                System.out.println("  " + parameter + " " + parameter.isNamePresent() + " "
                        + parameter.getAnnotatedType() + show(parameter.getAnnotations()));
            }
        }
        for (Annotation[] annotations : Annotated.class.getDeclaredConstructor(String.class).getParameterAnnotations()) {
            System.out.println("constructor " + show(annotations));
        }
        System.out.println(Mark.class.getMethod("numbers").getDefaultValue() instanceof int[]);
        System.out.println(generic("x", new int[1]));
        try {
            generic("x", new int[0]);
        } catch (IOException e) {
            System.out.println(e.getMessage() + " at " + e.getStackTrace()[0]);
        }
    }
}
