import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** What can stand before super(...) returns: ternaries, new objects, loops in lambdas, captured variables. */
public final class ConstructorArguments {
    static class Pair {
        final Object left;
        final Object right;

        Pair(Object left, Object right) {
            this.left = left;
            this.right = right;
        }

        @Override
        public String toString() {
            return getClass().getSimpleName() + "(" + left + ", " + right + ")";
        }
    }

    static final class Ternary extends Pair {
        Ternary(int n) {
            super(n > 0 ? "positive" : n == 0 ? "zero" : "negative", n % 2 == 0 ? new Pair(n, n / 2) : null);
        }
    }

    static final class NewInside extends Pair {
        NewInside(String s) {
            super(new StringBuilder(s).append(new Pair("x", new Pair("y", "z"))).toString(), new int[] {1, 2, 3}.length);
        }
    }

    static final class OfOwnKind extends Pair {
        OfOwnKind(int depth) {
            super(depth == 0 ? "end" : new OfOwnKind(depth - 1), depth);
        }
    }

    static final class Chain extends Pair {
        Chain(Object a, Object b, Object c) {
            super(a, new Pair(b, c));
        }

        Chain(Object a) {
            this(a, a == null ? new Chain("default") : a, new Object[] {a}.length);
        }

        Chain() {
            this(new Chain(1));
        }
    }

    static final class Lambda extends Pair {
        Lambda(List<String> words) {
            super((Supplier<String>) () -> String.join("-", words), wrap(() -> words.size()));
        }

        static Object wrap(Supplier<Integer> s) {
            return s.get() + 1;
        }
    }

    static final class Wide extends Pair {
        Wide(long a, double b, int c, long d) {
            super(c > 0 ? a + d : b, b > 1.5 ? d : a);
        }
    }

    class Inner extends Pair {
        class Innermost extends Inner {
            Innermost(String s) {
                ConstructorArguments.this.super(s + "!");
            }
        }

        Inner(String s) {
            super(s, label);
        }
    }

    final String label;

    ConstructorArguments(String label) {
        this.label = label;
    }

    enum Planet {
        SMALL(1, "s"), LARGE(1000, "l") {
            @Override
            String describe() {
                return "very " + super.describe();
            }
        };

        final int mass;
        final String code;

        Planet(int mass, String code) {
            this.mass = mass;
            this.code = code.isEmpty() ? "?" : code + mass;
        }

        String describe() {
            return name() + code;
        }
    }

    public static void main(String[] args) {
        for (int n = -2; n <= 2; n++) {
            System.out.println(new Ternary(n));
        }
        System.out.println(new NewInside("begin "));
        System.out.println(new OfOwnKind(4));
        System.out.println(new Chain() + " " + new Chain((Object) null));
        Lambda lambda = new Lambda(new ArrayList<>(List.of("a", "b", "c")));
        System.out.println(((Supplier<?>) lambda.left).get() + " " + lambda.right);
        System.out.println(new Wide(1L, 2.5, 1, 7L) + " " + new Wide(1L, 0.5, -1, 7L));
        ConstructorArguments outer = new ConstructorArguments("label");
        Inner inner = outer.new Inner("inner");
        System.out.println(inner + " " + inner.new Innermost("most"));
        for (Planet planet : Planet.values()) {
            System.out.println(planet.describe());
        }
        String captured = "captured" + args.length;
        Pair anonymous = new Pair(captured.length() > 3 ? captured : "short", new ArrayList<Object>(List.of(1, 2))) {
            final int own = captured.length();

            {
                System.out.println("anonymous initializer sees " + left + " and " + own);
            }

            @Override
            public String toString() {
                return "anonymous " + super.toString() + captured;
            }
        };
        System.out.println(anonymous);
    }
}
