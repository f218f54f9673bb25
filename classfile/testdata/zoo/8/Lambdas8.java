import java.util.function.IntFunction;
import java.util.function.Supplier;

class Lambdas8 {
    static Supplier<String> capture(String text, int times) {
        Runnable r = (Runnable & java.io.Serializable) () -> System.out.println(text);
        r.run();
        return () -> text + times;
    }

    static IntFunction<int[]> reference() {
        return int[]::new;
    }
}
