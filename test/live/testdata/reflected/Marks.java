package reflected;

import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Annotations of every retention, for every place. */
final class Marks {
    @Retention(RetentionPolicy.RUNTIME)
    @Inherited
    @Repeatable(Runtimes.class)
    @Target({ElementType.TYPE, ElementType.FIELD, ElementType.METHOD, ElementType.PARAMETER, ElementType.CONSTRUCTOR,
            ElementType.LOCAL_VARIABLE, ElementType.ANNOTATION_TYPE, ElementType.PACKAGE, ElementType.TYPE_PARAMETER,
            ElementType.RECORD_COMPONENT})
    @interface Runtime {
        String value() default "none";

        int[] numbers() default {1, 2};

        Class<?> type() default Object.class;

        RetentionPolicy constant() default RetentionPolicy.CLASS;

        Nested nested() default @Nested(7);

        double wide() default 1.5;
    }

    @Retention(RetentionPolicy.RUNTIME)
    @Inherited
    @Target({ElementType.TYPE, ElementType.FIELD, ElementType.METHOD, ElementType.PARAMETER, ElementType.CONSTRUCTOR,
            ElementType.TYPE_PARAMETER, ElementType.RECORD_COMPONENT})
    @interface Runtimes {
        Runtime[] value();
    }

    @Retention(RetentionPolicy.RUNTIME)
    @interface Nested {
        long value();
    }

    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.TYPE_USE)
    @interface Use {
        int value();
    }

    @Retention(RetentionPolicy.CLASS)
    @interface InClass {
        String value();
    }

    @Retention(RetentionPolicy.CLASS)
    @Target(ElementType.TYPE_USE)
    @interface UseInClass {
    }

    @Retention(RetentionPolicy.SOURCE)
    @interface InSource {
    }

    private Marks() {
    }
}
