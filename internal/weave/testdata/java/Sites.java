import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.List;

/**
 * Calls of every kind in every place, natives among them, some of which throw. It counts the calls of its own
 * methods tick and fails, and prints what it does; every call in it can be wrapped.
 */
public class Sites {
    static int ticks;
    static int failures;
    static final int FIRST = tick(3) + Array.getLength(new long[4]);
    static final String SECOND;

    static {
        String s;
        try {
            fails("static");
            s = "no";
        } catch (IllegalStateException e) {
            s = e.getMessage() + tick(1);
        }
        SECOND = s;
    }

    static int tick(int n) {
        ticks++;
        return n;
    }

    static long wide(long n) {
        ticks++;
        return n * 2;
    }

    static double real(double d) {
        ticks++;
        return d / 2;
    }

    static Object fails(String why) {
        failures++;
        throw new IllegalStateException(why);
    }

    static native int missing(int i);

    interface Shape {
        double size();

        default String told() {
            return "shape of " + size() + " " + tick(7) + " " + hashes(this);
        }

        static boolean hashes(Object o) {
            return o.hashCode() == System.identityHashCode(o);
        }
    }

    static class Base {
        final String name;

        Base(String name, int n) {
            if (n < 0) {
                fails("base " + name);
            }
            this.name = name + n;
        }

        protected String say() {
            return name + tick(2);
        }
    }

    static class Derived extends Base implements Shape {
        private final long[] data;

        Derived(String s) {
            super(s.substring(tick(1)), tick(s.length()) > 3 ? tick(1) : tick(-1));
            this.data = new long[tick(3)];
            Array.setLong(data, 1, wide(4));
        }

        Derived() {
            this(String.valueOf(real(33.5)));
        }

        @Override
        protected String say() {
            return super.say() + secret(1L, 2.5) + Array.getLong(data, 1);
        }

        private String secret(long a, double b) {
            return "(" + wide(a) + " " + real(b) + ")";
        }

        @Override
        public double size() {
            return Array.getDouble(new double[] {real(9)}, 0);
        }
    }

    static void kinds() {
        System.out.println(new Derived("abcd").say() + " " + new Derived().told());
        try {
            System.out.println(new Derived("x"));
        } catch (IllegalStateException e) {
            System.out.println(e.getMessage());
        }
        int[] array = {1, 2, 3};
        System.arraycopy(array, 0, array, tick(1), tick(2));
        System.out.println(array.clone()[2] + Array.getInt(array, 1) + " " + array.getClass().getName());
        long[][] two = {{1, wide(2)}, {3}};
        System.out.println(two.clone()[tick(0)][tick(1)] + wide(two[tick(1)][tick(0)]));
        List<String> list = new ArrayList<>();
        list.add("one");
        list.add(String.valueOf((float) real(1)));
        System.out.println(list.size() + list.get(tick(1)) + Float.floatToRawIntBits((float) real(2)));
        Object nothing = tick(0) == 0 ? null : list;
        try {
            System.out.println(nothing.hashCode());
        } catch (NullPointerException e) {
            System.out.println(e.getMessage());
        }
    }

    /** What lies under the arguments: numbers of all sizes, objects, objects that are none yet. */
    static void under() {
        System.out.println(tick(1) + (tick(2) * wide(3) + real(4) - (float) tick(5)) + " " + (tick(6) << tick(2)));
        System.out.println(new StringBuilder(new String(new char[] {(char) tick('a'), (char) (tick(1) + tick('a'))})).append(wide(5)).append(real(6)).append(tick(7)));
        String s = new String(tick(1) > 0 ? "x".concat("y") : "z");
        s += s + tick(2) + Long.toString(wide(3), tick(10));
        System.out.println(s);
        try {
            System.out.println(new StringBuilder("lost").append(new Derived(String.valueOf(fails("inner")))));
        } catch (IllegalStateException e) {
            System.out.println(e.getMessage() + tick(1));
        }
        long[] longs = new long[3];
        longs[tick(1)] += wide(21) + longs[tick(0)];
        longs[tick(2)] = longs[tick(1)]++;
        System.out.println(longs[1] + " " + longs[2]);
    }

    static String catching(int i) {
        String how = "";
        try {
            try {
                if (i == 0) {
                    fails("zero");
                }
                if (i == 1) {
                    System.arraycopy("", 0, how, 0, 1);
                }
                if (i == 2) {
                    missing(tick(i));
                }
                if (i == 3) {
                    Array.get(new int[1], tick(i));
                }
                if (i == 4) {
                    "".notify();
                }
                how += Array.get(new int[] {tick(5)}, 0);
            } catch (IllegalStateException e) {
                how += "state " + tick(i) + ";";
                fails("again");
            } catch (ArrayStoreException e) {
                how += "store ";
            } catch (IndexOutOfBoundsException | IllegalMonitorStateException e) {
                how += e.getClass().getName();
                return how + tick(1);
            } finally {
                how += " finally " + tick(i);
            }
        } catch (IllegalStateException e) {
            how += " outer " + e.getMessage();
        } catch (UnsatisfiedLinkError e) {
            how += " link";
        }
        return how;
    }

    synchronized String locked(Object lock, int n) {
        synchronized (lock) {
            try {
                synchronized (this) {
                    if (n > 1) {
                        fails("locked " + Thread.holdsLock(lock));
                    }
                    return String.valueOf(Thread.holdsLock(this)) + tick(n);
                }
            } catch (IllegalStateException e) {
                return e.getMessage() + Thread.holdsLock(this) + Thread.holdsLock(lock);
            }
        }
    }

    static int loops(int n) {
        int sum = 0;
        do {
            n = tick(n) - 1; // what jumps back jumps to the call's first argument
        } while (n > 0);
        while (odd()) {
            sum++;
        }
        for (;;) {
            count();
            if (sum++ > 4) {
                break;
            }
        }
        for (int i = 0; i < 10; tick(i++)) {
            switch (tick(i) % 4) {
                case 0:
                    sum += tick(1);
                    continue;
                case 1:
                    try {
                        fails("loop");
                    } catch (IllegalStateException e) {
                        sum += e.getMessage().length();
                    }
                    break;
                default:
                    sum -= (int) wide(i) + (i > 5 ? tick(1) : (int) real(2));
            }
        }
        return sum;
    }

    static void count() {
        ticks++;
    }

    static boolean odd() {
        return (++ticks & 1) == 1;
    }

    static int deep(int n) {
        try {
            return n == 0 ? ((Integer) fails("bottom")).intValue() : tick(1) + deep(n - 1);
        } finally {
            tick(n);
        }
    }

    static String fallible(int i) {
        try {
            return i == 2 ? String.valueOf(fails("two")) : " one ";
        } catch (IllegalStateException e) {
            return " " + e.getMessage() + " ";
        }
    }

    /** Is a class of its own so that Sites can be of a version that knows none. */
    static class Lambdas {
        static void lambdas() throws Exception {
            final int n = tick(4);
            Runnable r = new Runnable() {
                @Override
                public void run() {
                    System.out.println("inner " + tick(n) + Thread.currentThread().getName());
                }
            };
            r.run();
            java.util.function.Function<Integer, Object> f = i -> tick(i) + fallible(i) + wide(i);
            java.util.function.Supplier<Thread> g = Thread::currentThread;
            System.out.println(f.apply(1) + " " + f.apply(2) + " " + g.get().isAlive());
            Thread other = new Thread(() -> System.out.println("thread " + tick(9)));
            other.start();
            other.join();
        }
    }

    public static void main(String[] args) throws Exception {
        System.out.println(FIRST + SECOND);
        kinds();
        under();
        for (int i = 0; i < 6; i++) {
            System.out.println(i + catching(i));
        }
        Sites s = new Sites();
        System.out.println(s.locked("", 1) + s.locked(new Object(), 2));
        System.out.println(loops(5));
        try {
            deep(5);
        } catch (IllegalStateException e) {
            System.out.println(e.getMessage() + " " + e.getStackTrace()[0] + " " + e.getStackTrace()[4] + " " + e.getStackTrace().length);
        }
        Lambdas.lambdas();
        System.out.println("ticks " + ticks + " failures " + failures);
        SiteHooks.tell();
    }
}
