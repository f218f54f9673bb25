import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Supplier;

class Lambdas {
    private int field = 3;

    Supplier<Supplier<Integer>> nested(int a) {
        return () -> () -> a + field;
    }

    Function<Object, String> references() {
        BiFunction<String, Integer, Character> at = String::charAt;
        return Object::toString;
    }
}
