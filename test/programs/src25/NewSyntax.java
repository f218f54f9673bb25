import module java.base;

/** Unnamed variables and patterns, module imports, and an instance main in an implicitly lambda-rich class. */
class NewSyntax {
    record Pair(Object left, Object right) {
    }

    int count;

    void main() {
        for (var _ : List.of(1, 2, 3)) {
            count++;
        }
        try {
            Integer.parseInt("none");
        } catch (NumberFormatException _) {
            count += 10;
        }
        BiFunction<Integer, Integer, Integer> first = (a, _) -> a * 2;
        IO.println(count + " " + first.apply(4, 9) + " " + of(new Pair(1, "x")) + of(new Pair("y", 2)));
        IO.println(Stream.of("a", "b", "c", "d").gather(Gatherers.windowFixed(2)).toList());
    }

    static String of(Pair pair) {
        return switch (pair) {
            case Pair(Integer n, _) -> "int " + n + " ";
            case Pair(_, Integer n) -> "then " + n;
            case Pair(_, _) -> "neither";
        };
    }
}
