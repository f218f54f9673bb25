import java.util.List;
import java.util.function.Supplier;

/** Constructors with statements before super(...) or this(...): checks, loops, try, fields set early, early failure. */
public final class FlexibleConstructors {
    static class Base {
        final String seen;

        Base(String name) {
            seen = name + describe();
        }

        String describe() {
            return "base";
        }
    }

    static class Early extends Base {
        final int field;
        final long wide;

        Early(int n) {
            if (n < 0) {
                throw new IllegalArgumentException("negative " + n);
            }
            int sum = 0;
            for (int i = 0; i < n; i++) {
                sum += i;
            }
            field = sum;
            wide = sum * 1_000_000_000_000L;
            super("early");
            System.out.println("after super " + field);
        }

        @Override
        String describe() {
            return "/" + field + "/" + wide;
        }
    }

    static class WithTry extends Base {
        WithTry(String text) {
            String parsed;
            try {
                parsed = "number " + Integer.parseInt(text);
            } catch (NumberFormatException e) {
                parsed = "text " + text;
            } finally {
                System.out.println("parsed");
            }
            super(parsed);
        }
    }

    static class Choosing extends Base {
        Choosing(Object o) {
            String name = switch (o) {
                case Integer i when i > 10 -> "many";
                case Integer i -> "few" + i;
                case String s -> s;
                default -> "other";
            };
            Supplier<String> later = () -> name + name.length();
            super(later.get());
        }
    }

    static class Chained extends Base {
        final List<Integer> numbers;

        Chained(int... numbers) {
            var list = new java.util.ArrayList<Integer>();
            for (int n : numbers) {
                list.add(n * 2);
            }
            this(list);
            System.out.println("chained " + this.numbers);
        }

        Chained(List<Integer> numbers) {
            this.numbers = numbers;
            if (numbers.isEmpty()) {
                throw new IllegalStateException("empty");
            }
            super("list" + numbers.size());
        }
    }

    class Inner extends Base {
        Inner() {
            String label = FlexibleConstructors.this.label + "!";
            super(label);
        }
    }

    final String label = "outer";

    enum Kind {
        A("a"), B("");

        final String code;

        Kind(String code) {
            String checked = code.isEmpty() ? "empty" : code;
            this.code = checked;
        }
    }

    public static void main(String[] args) {
        System.out.println(new Early(5).seen);
        attempt(() -> new Early(-1));
        System.out.println(new WithTry("12").seen + " " + new WithTry("x").seen);
        System.out.println(new Choosing(50).seen + new Choosing(5).seen + new Choosing("s").seen + new Choosing(1.5).seen);
        System.out.println(new Chained(1, 2, 3).seen);
        attempt(Chained::new);
        System.out.println(new FlexibleConstructors().new Inner().seen + Kind.A.code + Kind.B.code);
    }

    static void attempt(Supplier<Object> maker) {
        try {
            System.out.println(maker.get());
        } catch (RuntimeException e) {
            System.out.println(e.getMessage());
            for (StackTraceElement frame : e.getStackTrace()) {
                System.out.println("    " + frame);
            }
        }
    }
}
