package patterns;

import ledger.Fixture;
import ledger.Ledger;

/** Switches on types, records and enums, which the JDK links when they first run. */
public final class Main extends Fixture {
    sealed interface Shape permits Circle, Box, Pair {
    }

    record Circle(long radius) implements Shape {
        @Override
        public long radius() {
            Ledger.count("patterns/Main$Circle.radius()J");
            return radius;
        }
    }

    record Box(long width, long height) implements Shape {
        @Override
        public long width() {
            Ledger.count("patterns/Main$Box.width()J");
            return width;
        }
    }

    record Pair(Shape left, Shape right) implements Shape {
    }

    enum Colour { RED, GREEN }

    @Override
    public long round() {
        return root();
    }

    static long root() {
        Ledger.Call call = Ledger.root("patterns/Main.root()J");
        Shape[] shapes = {new Circle(2), new Box(3, 4), new Pair(new Circle(5), new Box(0, 1))};
        long sum = 0;
        for (Shape shape : shapes) {
            sum += area(shape);
        }
        for (Object value : new Object[] {Colour.RED, Colour.GREEN, "text", 7}) {
            sum += other(value);
        }
        return Ledger.out(call, sum);
    }

    private static long area(Shape shape) {
        Ledger.Call call = Ledger.in("patterns/Main.area(Lpatterns/Main$Shape;)J");
        return Ledger.out(call, switch (shape) {
            case Circle(long radius) -> round(radius);
            case Box(long width, long height) when flat(width) -> height;
            case Box box -> box.width() * box.height();
            case Pair(Circle left, Shape right) -> area(left) + area(right);
            case Pair(Shape left, Shape right) -> area(right) - area(left);
        });
    }

    private static long other(Object value) {
        Ledger.Call call = Ledger.in("patterns/Main.other(Ljava/lang/Object;)J");
        return Ledger.out(call, switch (value) {
            case Colour.RED -> round(1);
            case Colour.GREEN -> 2;
            case String text when flat(text.length()) -> 3;
            case String text -> text.length();
            default -> 5;
        });
    }

    private static boolean flat(long width) {
        Ledger.count("patterns/Main.flat(J)Z");
        return width == 0;
    }

    private static long round(long radius) {
        Ledger.count("patterns/Main.round(J)J");
        return radius * radius * 3;
    }
}
