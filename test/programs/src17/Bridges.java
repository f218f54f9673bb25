import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Comparator;
import java.util.concurrent.Callable;

/** Bridge methods: generic parameters, covariant results, packages of visibility, class cast failures in bridges. */
public final class Bridges {
    interface Shape<T extends Number> {
        T size();

        default String describe(T scale) {
            return "shape " + scale;
        }
    }

    static class Square implements Shape<Integer> {
        @Override
        public Integer size() {
            return 4;
        }

        @Override
        public String describe(Integer scale) {
            return "square " + scale * size();
        }
    }

    static class Base implements Cloneable, Comparable<Base> {
        int n = 1;

        Object self() {
            return "base";
        }

        @Override
        public Base clone() throws CloneNotSupportedException {
            return (Base) super.clone();
        }

        @Override
        public int compareTo(Base other) {
            return Integer.compare(n, other.n);
        }
    }

    static class Derived extends Base {
        @Override
        String self() {
            return "derived";
        }

        @Override
        public Derived clone() throws CloneNotSupportedException {
            return (Derived) super.clone();
        }
    }

    abstract static class Hidden {
        public String visible() {
            return "visible";
        }
    }

    public static class Shown extends Hidden {
    }

    static <T extends Comparable<? super T>> T max(T a, T b) {
        return a.compareTo(b) >= 0 ? a : b;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    public static void main(String[] args) throws Exception {
        Shape<Integer> square = new Square();
        System.out.println(square.size() + " " + square.describe(3));
        Shape raw = square;
        System.out.println(raw.size());
        try {
            raw.describe(2.5);
        } catch (ClassCastException e) {
            StackTraceElement top = e.getStackTrace()[0];
            System.out.println("bridge refused at " + top.getMethodName() + ":" + top.getLineNumber());
        }
        Base base = new Derived();
        System.out.println(base.self() + " " + base.clone().getClass().getSimpleName() + " " + max(base, new Base()).n);
        try {
            ((Comparable) base).compareTo("text");
        } catch (ClassCastException e) {
            System.out.println("comparable refused");
        }
        Callable<String> callable = new Callable<>() {
            @Override
            public String call() {
                return "called";
            }
        };
        System.out.println(callable.call() + " " + new Shown().visible());
        for (Class<?> each : new Class<?>[] {Square.class, Base.class, Derived.class, Shown.class}) {
            list(each);
        }
    }

    static void list(Class<?> type) {
        Method[] methods = type.getDeclaredMethods();
        Arrays.sort(methods, Comparator.comparing(Method::getName).thenComparing(m -> m.getReturnType().getName())
                .thenComparing(m -> Arrays.toString(m.getParameterTypes())));
        for (Method method : methods) {
            System.out.println((method.isBridge() ? "bridge " : "       ") + method.toGenericString());
        }
    }
}
