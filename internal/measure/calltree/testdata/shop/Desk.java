package shop;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.function.Function;
import java.util.function.Supplier;

/** Calls in every way there is, so that what serve can call is known. */
public final class Desk {
    interface Shape {
        double area();

        default String label() {
            return "shape".concat(name());
        }

        String name();
    }

    static class Square implements Shape {
        final int side;

        Square(int side) {
            this.side = side;
        }

        public double area() {
            return side * side;
        }

        public String name() {
            return "square";
        }
    }

    /** Overrides an override. */
    static class Tall extends Square {
        Tall(int side) {
            super(side);
        }

        @Override
        public double area() {
            return 2 * super.area();
        }
    }

    static class Circle implements Shape {
        public double area() {
            return 3;
        }

        public String name() {
            return "circle";
        }

        @Override
        public String label() {
            return "round";
        }
    }

    /** Nobody loads it, so nothing it overrides can be called. */
    static class Never implements Shape {
        public double area() {
            return 0;
        }

        public String name() {
            return "never";
        }
    }

    /** Nobody implements it. */
    interface Lonely {
        void cry();
    }

    static class Rules {
        static int limit = find();

        static int find() {
            return 7;
        }
    }

    static native int chip();

    static int helper(int n) {
        return n + 1;
    }

    static int parse(String text) {
        return text.length();
    }

    static int get(Supplier<Integer> from) {
        return from.get();
    }

    static int map(Function<String, Integer> by) {
        return by.apply("four");
    }

    static int forbidden(int n, Lonely lonely) {
        lonely.cry();
        return chip() + n;
    }

    static int serve(Shape shape, int n) {
        Square made = new Square(n);
        double area = shape.area();
        String label = shape.label();
        int sum = get(() -> helper(n)) + map(Desk::parse);
        if (n < 0) {
            sum += forbidden(n, null);
        }
        if (n > 0) {
            sum += serve(made, n - 1);
        }
        return sum + (int) area + label.length() + Rules.limit;
    }

    public static void main(String[] args) throws Exception {
        Shape[] shapes = {new Square(2), new Tall(2), new Circle()};
        Class.forName("shop.Desk$Rules");
        Class.forName("shop.Desk$Lonely");
        for (String name : args) {
            Class.forName(name);
        }
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            int sum = 0;
            for (int i = 0; i < 100; i++) {
                sum += serve(shapes[i % 2], i % 3);
            }
            System.out.println("served " + sum);
        }
    }
}
