import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Has annotations on type arguments, which javac tells of the call or of what follows it, and on what is caught. */
class Annotated {
    @Target(ElementType.TYPE_USE)
    @Retention(RetentionPolicy.RUNTIME)
    @interface Mark {
    }

    static <T> T same(T t) {
        return t;
    }

    static <T> void nothing() {
    }

    static String both(String s) {
        try {
            Annotated.<@Mark String>nothing();
            Annotated.<String>nothing();
            return s + Annotated.<@Mark String>same(s.trim());
        } catch (@Mark IllegalStateException e) {
            return Annotated.<@Mark String>same(e.getMessage());
        }
    }
}
