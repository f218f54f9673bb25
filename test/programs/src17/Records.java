import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Records: generated members, compact and further constructors, reflection on components, local records. */
public final class Records {
    record Point(int x, int y) {
        static final Point ORIGIN = new Point(0, 0);

        Point {
            if (x < 0) {
                throw new IllegalArgumentException("x is " + x);
            }
        }

        Point(int both) {
            this(both, both);
        }

        double distance() {
            return Math.hypot(x, y);
        }
    }

    record Everything(boolean z, byte b, char c, short s, int i, long l, float f, double d, String t, int[] a) {
    }

    record Generic<T extends Comparable<T>>(@Deprecated T first, List<? super T> rest) implements Comparable<Generic<T>> {
        @Override
        public int compareTo(Generic<T> other) {
            return first.compareTo(other.first);
        }
    }

    record Trimmed(String text) {
        Trimmed {
            text = text.trim();
        }

        @Override
        public String text() {
            return "<" + text + ">";
        }
    }

    record Empty() {
    }

    public static void main(String[] args) throws Exception {
        Point p = new Point(3, 4);
        System.out.println(p + " " + p.distance() + " " + new Point(5) + " " + Point.ORIGIN);
        System.out.println(p.equals(new Point(3, 4)) + " " + p.equals(new Point(4, 3)) + " " + p.hashCode());
        int[] array = {1};
        Everything all = new Everything(true, (byte) -1, 'c', (short) 300, 1 << 20, 1L << 40, 1.5f, -2.5, "text", array);
        Everything same = new Everything(true, (byte) -1, 'c', (short) 300, 1 << 20, 1L << 40, 1.5f, -2.5, "text", array);
        System.out.println(all.equals(same) + " " + (all.hashCode() == same.hashCode()) + " " + all.b() + all.c() + all.l() + all.d());
        System.out.println(new Generic<>("b", List.of()).compareTo(new Generic<>("a", List.of("x"))));
        System.out.println(new Trimmed("  in  ").text() + " " + new Trimmed(" x ") + " " + new Trimmed("x").equals(new Trimmed(" x")));
        System.out.println(new Empty() + " " + new Empty().equals(new Empty()) + " " + new Empty().hashCode());
        try {
            new Point(-1, 0);
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage() + " at " + e.getStackTrace()[0]);
        }
        for (Class<?> type : List.of(Point.class, Everything.class, Generic.class, Empty.class)) {
            for (RecordComponent component : type.getRecordComponents()) {
                System.out.println(type.getSimpleName() + ": " + component.getGenericType() + " " + component.getName()
                        + " " + component.getAccessor().getName() + " " + Arrays.toString(component.getAnnotations()));
            }
        }
        System.out.println(Point.class.getRecordComponents()[1].getAccessor().invoke(p));
        record Local(String key, Object value) {
        }
        Set<Local> set = new HashSet<>(List.of(new Local("a", 1)));
        System.out.println(set.add(new Local("a", 1)) + " " + set.add(new Local("a", 2)) + " " + set.size());
    }
}
