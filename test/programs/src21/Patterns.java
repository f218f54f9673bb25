import java.util.List;

/** Pattern switches: types, guards, null, records nested in records, enums and constants mixed, generic records. */
public final class Patterns {
    record Point(int x, int y) {
    }

    record Line(Point from, Point to) {
    }

    record Box<T>(T content) {
    }

    enum Suit { CLUBS, HEARTS }

    static String describe(Object o) {
        return switch (o) {
            case null -> "null";
            case Integer i when i > 100 -> "large " + i;
            case Integer i -> "int " + i;
            case Long l -> "long " + (l + 1);
            case Line(Point(var a, var b), Point(int c, int d)) when a == c -> "vertical " + (d - b);
            case Line(Point from, var to) -> "line " + from + to;
            case Point(int x, int y) -> "point " + x * y;
            case Box<?>(String s) -> "box of text " + s.length();
            case Box<?>(Box<?>(var inner)) -> "box of a box of " + inner;
            case Box<?> b -> "box " + b.content();
            case Suit s when s == Suit.HEARTS -> "hearts";
            case Suit s -> "suit " + s.ordinal();
            case int[] array -> "ints " + array.length;
            case List<?> list -> {
                int sum = 0;
                for (Object each : list) {
                    sum += describe(each).length();
                }
                yield "list " + sum;
            }
            case Throwable t -> throw new IllegalArgumentException("thrown from a case", t);
            default -> o.getClass().getSimpleName();
        };
    }

    static long primitive(Object o) {
        if (o instanceof Point(int x, int y) && x > y) {
            return x - y;
        }
        if (!(o instanceof Line(Point from, Point(var x, var y)))) {
            return -1L;
        }
        return from.x() + x * 10L + y * 100L;
    }

    static int text(String s) {
        return switch (s) {
            case "one" -> 1;
            case String t when t.length() > 5 -> t.length();
            case "two" -> 2;
            case String t -> -t.length();
        };
    }

    record Explosive(int n) {
        @Override
        public int n() {
            throw new IllegalStateException("accessor " + n);
        }
    }

    public static void main(String[] args) {
        Object[] all = {null, 5, 500, 7L, new Point(3, 4), new Line(new Point(1, 2), new Point(1, 9)),
            new Line(new Point(0, 0), new Point(1, 1)), new Box<>("text"), new Box<>(new Box<>(1.5)), new Box<>(null),
            Suit.HEARTS, Suit.CLUBS, new int[3], List.of(1, "a", 2L), 'c', "string"};
        for (Object each : all) {
            System.out.println(describe(each) + " / " + primitive(each));
        }
        System.out.println(text("one") + " " + text("two") + " " + text("longer text") + " " + text("abc"));
        try {
            describe(new Exception("cause"));
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage() + " because of " + e.getCause().getMessage() + " at " + e.getStackTrace()[0]);
        }
        try {
            Object o = new Explosive(3);
            if (o instanceof Explosive(int n)) {
                System.out.println(n);
            }
        } catch (MatchException e) {
            System.out.println("match: " + e.getCause().getMessage());
        }
    }
}
