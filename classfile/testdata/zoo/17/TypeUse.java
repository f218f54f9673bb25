import java.io.IOException;
import java.io.StringReader;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;

class TypeUse<@TypeMark(1) A extends @TypeMark(2) Object & @TypeMark(3) Runnable>
        extends @TypeMark(4) ArrayList<@TypeMark(5) String> implements @TypeMark(6) Cloneable {
    Map<@TypeMark(7) ? extends @TypeMark(8) Number, @TypeMark(9) int @TypeMark(10) [] @TypeMark(11) []> field;

    <@TypeMark(12) B extends @TypeMark(13) Comparable<B>> @TypeMark(14) B all(@TypeMark(15) TypeUse<A> this, @TypeMark(16) B b)
            throws @TypeMark(17) IOException {
        @TypeMark(18) String local = "a";
        Object o = new @TypeMark(19) Object();
        if (o instanceof @TypeMark(20) String) {
            local = (@TypeMark(21) String) o;
        }
        Supplier<Object> s = @TypeMark(22) Object::new;
        Function<String, Object> f = this.<@TypeMark(23) String>generic();
        List<@TypeMark(24) String> list = new ArrayList<@TypeMark(25) String>();
        try (@TypeMark(26) StringReader r = new StringReader(local)) {
            list.add(local);
        } catch (@TypeMark(27) RuntimeException e) {
            s.get();
        }
        return b;
    }

    <X> Function<X, Object> generic() {
        return x -> x;
    }
}

@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE_USE, ElementType.TYPE_PARAMETER})
@interface TypeMark {
    int value();
}
