import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.List;

record Records<T extends Comparable<T>>(@Mark int x, List<? super T> list, double... rest) {
    @Retention(RetentionPolicy.RUNTIME)
    @interface Mark {}

    Records {
        if (x < 0) {
            throw new IllegalArgumentException();
        }
    }
}
