import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.IntBinaryOperator;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Lambdas and method references of every kind, capturing and not, and what streams make of them. */
public final class Lambdas {
    final int base;

    Lambdas(int base) {
        this.base = base;
    }

    int add(int n) {
        return base + n;
    }

    Function<Integer, Integer> capturingThis() {
        return n -> add(n) * 2;
    }

    public static void main(String[] args) {
        Supplier<String> plain = () -> "plain";
        int captured = 5;
        long wide = 1L << 33;
        double fraction = 0.25;
        IntBinaryOperator both = (a, b) -> a * captured + b;
        Supplier<Double> wides = () -> wide * fraction;
        Function<String, Integer> unbound = String::length;
        Function<Integer, Lambdas> constructor = Lambdas::new;
        Function<Integer, int[]> array = int[]::new;
        Lambdas object = constructor.apply(7);
        Function<Integer, Integer> bound = object::add;
        BiFunction<Lambdas, Integer, Integer> unboundTwo = Lambdas::add;
        System.out.println(plain.get() + both.applyAsInt(2, 3) + wides.get() + unbound.apply("four") + array.apply(3).length);
        System.out.println(bound.apply(1) + " " + unboundTwo.apply(object, 2) + " " + object.capturingThis().apply(3));
        System.out.println(curry(1).apply(2).apply(3));
        streams();
        exceptions();
        System.out.println(IntStream.rangeClosed(1, 5).mapToObj(Lambdas::recursive).collect(Collectors.toList()));
    }

    static Function<Integer, Function<Integer, Integer>> curry(int a) {
        return b -> c -> a * 100 + b * 10 + c;
    }

    static void streams() {
        List<String> words = List.of("pear", "fig", "apple", "plum", "cherry");
        System.out.println(words.stream().filter(w -> w.length() > 3).map(String::toUpperCase)
                .sorted(Comparator.comparing(String::length).thenComparing(Comparator.reverseOrder()))
                .collect(Collectors.joining(",")));
        Map<Integer, List<String>> byLength = words.stream()
                .collect(Collectors.groupingBy(String::length, TreeMap::new, Collectors.toList()));
        System.out.println(byLength);
        System.out.println(IntStream.range(0, 1000).parallel().map(n -> n % 13).sum());
        System.out.println(Stream.iterate(new long[] {0, 1}, f -> new long[] {f[1], f[0] + f[1]}).limit(50)
                .map(f -> f[0]).reduce(0L, Long::sum));
    }

    static void exceptions() {
        List<Runnable> all = new ArrayList<>();
        all.add(() -> { throw new IllegalStateException("in a lambda"); });
        all.add(Lambdas::fails);
        for (Runnable each : all) {
            try {
                each.run();
            } catch (IllegalStateException e) {
                System.out.println(e.getMessage() + " at " + e.getStackTrace()[0]);
            }
        }
    }

    static void fails() {
        throw new IllegalStateException("in a reference");
    }

    static int recursive(int n) {
        Function<Integer, Integer> twice = m -> m * 2;
        return n <= 1 ? twice.apply(n) : twice.andThen(m -> m + recursive(n - 1)).apply(n);
    }
}
