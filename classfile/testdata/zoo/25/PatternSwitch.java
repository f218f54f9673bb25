sealed interface PatternSwitch {
    record Circle(double r) implements PatternSwitch {}

    record Rectangle(double w, double h) implements PatternSwitch {}

    record Pair<A, B>(A a, B b) implements PatternSwitch {}

    static String of(Object o) {
        return switch (o) {
            case null -> "null";
            case Circle(double r) when r > 1 -> "big";
            case Circle c -> "small";
            case Rectangle(var w, var h) -> "w" + w + h;
            case Pair(Pair(var a, _), String s) -> s + a;
            case Pair<?, ?> _ -> "pair";
            case String s when s.isEmpty() -> "empty";
            case Integer i -> "int" + i;
            default -> o.toString();
        };
    }
}
