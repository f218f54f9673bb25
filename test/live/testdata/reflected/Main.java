package reflected;

import harness.Tally;
import harness.Workload;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/** Classes about which reflection has much to tell; the command reflect tells it. */
@Marks.Runtime("class")
@Marks.InClass("class")
@Marks.InSource
public final class Main implements Workload {
    static final int GENERIC = Tally.exact(Main.class, "generic", 10, 5);
    static final int POINT = Tally.exact(Point.class, "<init>(JLjava/util/List;[Ljava/lang/String;)V", 10, 0);
    static final int MAP = Tally.exact(Shelf.class,
            "put(Ljava/lang/String;Ljava/lang/Integer;[Ljava/util/List;)Ljava/lang/Integer;", 10, 0);

    @Marks.Runtime(numbers = {}, type = String.class)
    private transient volatile Map<@Marks.Use(1) String, ? extends @Marks.Use(2) Number[] @Marks.Use(3) []> field;

    /** A record with annotated components, a compact constructor and a component of each awkward type. */
    @Marks.Runtime("record")
    record Point<T extends @Marks.Use(4) Comparable<? super T>>(
            @Marks.Runtime("component") @Marks.Use(5) long x,
            @Marks.InClass("component") List<@Marks.Use(6) T> all,
            @Marks.Runtime("first") @Marks.Runtime("second") String @Marks.Use(7) ... rest) {
        Point {
            Tally.in(POINT);
        }

        @Marks.Runtime("accessor")
        @Override
        public long x() {
            return x;
        }
    }

    /** A hierarchy that is closed, with a generic method that is overridden. */
    @Marks.Runtime("sealed")
    sealed interface Store<K, V> permits Shelf {
        @Marks.Runtime("abstract")
        <E extends RuntimeException & Runnable> V put(@Marks.Runtime("key") final K key, V value) throws E;

        @Deprecated(since = "1", forRemoval = false)
        default void old(int... numbers) {
        }
    }

    static final class Shelf implements Store<String, Integer> {
        @Marks.Runtime("constructor")
        Shelf(@Marks.Runtime("parameter") final int size, @Marks.InClass("parameter") long unused) {
        }

        @Override
        public final <E extends RuntimeException & Runnable> Integer put(final String key, Integer value) throws E {
            return put(key, value, List.of());
        }

        @SafeVarargs
        private <T> Integer put(String key, Integer value, List<? super T>... lists) {
            Tally.in(MAP);
            return value + key.length() + lists.length;
        }

        final class Inner {
            Inner(@Marks.Runtime("inner") String afterOuter) {
            }
        }
    }

    enum Level {
        @Marks.Runtime("constant") LOW(1),
        HIGH(2) {
            @Override
            int weight(@Marks.Runtime("body") int scale) {
                return scale;
            }
        };

        private final int order;

        Level(@Marks.Runtime("enum") int order) {
            this.order = order;
        }

        int weight(int scale) {
            return scale * order;
        }
    }

    @Marks.Runtime("method")
    @Marks.InClass("method")
    protected static synchronized <T extends @Marks.Use(8) Comparable<T>> @Marks.Use(9) List<T> generic(
            @Marks.Runtime(numbers = {3}) final T first, @Marks.UseInClass int @Marks.Use(10) [] second)
            throws @Marks.Use(11) IOException {
        Tally.in(GENERIC);
        @Marks.Use(12) List<@Marks.Use(13) T> local = List.of(first);
        if (second.length == 0) {
            throw Tally.out(GENERIC, new @Marks.Use(14) IOException("empty"));
        }
        return local;
    }

    void receiver(@Marks.Use(15) Main this) {
        field = null;
    }

    @Override
    public long round() {
        long sum = 0;
        receiver();
        for (int i = 0; i < 10; i++) {
            try {
                sum += generic("text", new int[i % 2]).hashCode();
            } catch (IOException e) {
                sum += e.getMessage().length();
            }
            sum += new Point<>(i, List.of("a"), "b").x() + new Shelf(i, 0).put("key", i);
            sum += Level.values()[i % 2].weight(i);
        }
        return sum;
    }
}
