package calls;

import harness.Tally;
import java.util.concurrent.Callable;

/** Interface methods: default, static, private, abstract; bridges of generics and of covariant results. */
final class Contracts {
    static final int DEFAULT = Tally.exact(Shape.class, "describedByDefault", 20, 0);
    static final int STATIC = Tally.exact(Shape.class, "staticInInterface", 20, 0);
    static final int PRIVATE = Tally.exact(Shape.class, "privateInInterface", 20, 0);
    static final int REAL_SIZE = Tally.exact(Square.class, "size()Ljava/lang/Integer;", 40, 0);
    static final int OVERRIDING = Tally.exact(Square.class, "overriddenDefault", 10, 0);
    static final int OVERRIDDEN = Tally.exact(Shape.class, "overriddenDefault", 10, 0);
    static final int CALL = Tally.exact(Answer.class, "call()Ljava/lang/String;", 10, 0);
    static final int COMPARE = Tally.exact(Square.class, "compareTo(Lcalls/Contracts$Square;)I", 20, 0);

    interface Shape<T extends Number> {
        T size();

        default long describedByDefault() {
            Tally.in(DEFAULT);
            return privateInInterface() + staticInInterface(size().longValue());
        }

        default long overriddenDefault() {
            Tally.in(OVERRIDDEN);
            return 3;
        }

        static long staticInInterface(long x) {
            Tally.in(STATIC);
            return x * 2;
        }

        private long privateInInterface() {
            Tally.in(PRIVATE);
            return size().longValue() + 1;
        }
    }

    static final class Square implements Shape<Integer>, Comparable<Square> {
        @Override
        public Integer size() {
            Tally.in(REAL_SIZE);
            return 4;
        }

        @Override
        public long overriddenDefault() {
            Tally.in(OVERRIDING);
            return Shape.super.overriddenDefault() + 1;
        }

        @Override
        public int compareTo(Square other) {
            Tally.in(COMPARE);
            return 1;
        }
    }

    static final class Answer implements Callable<String> {
        @Override
        public String call() {
            Tally.in(CALL);
            return "answer";
        }
    }

    private Contracts() {
    }

    static long work() {
        Square square = new Square();
        Shape<Integer> shape = square;
        Comparable<Square> comparable = square;
        Callable<?> callable = new Answer();
        long sum = 0;
        try {
            for (int i = 0; i < 10; i++) {
                sum += shape.describedByDefault() + square.describedByDefault() + shape.overriddenDefault();
                sum += comparable.compareTo(square) + square.compareTo(square);
                sum += callable.call().hashCode();
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        return sum;
    }
}
