import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

@Annotated.All(c = 'c', classes = {int[].class, Void.class}, inner = @Annotated.Inner)
@Deprecated
class Annotated {
    @interface Inner {}

    @Retention(RetentionPolicy.RUNTIME)
    @interface All {
        boolean z() default true;
        byte b() default -1;
        char c();
        short s() default Short.MIN_VALUE;
        int i() default Integer.MAX_VALUE;
        long j() default Long.MIN_VALUE;
        float f() default Float.NaN;
        double d() default -0.0;
        String text() default "\u0000\ud83d\ude00";
        RetentionPolicy policy() default RetentionPolicy.SOURCE;
        Class<?>[] classes() default {};
        Inner inner();
        String[] empty() default {};
    }

    void parameters(@All(c = 1, inner = @Inner) int a, long plain, @Inner Object b) {}
}
