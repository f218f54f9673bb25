/** Methods of all shapes, and a program that calls each. */
public class Shapes {
    int n;

    public Shapes() {
    }

    Shapes(int n) {
        this();
        if (n < 0) {
            throw new IllegalArgumentException("negative " + n);
        }
        this.n = n;
        n = 1000;
    }

    static void nothing() {
    }

    static int add(int a, int b) {
        int c = a + b;
        a = 100;
        b = 200;
        return c;
    }

    static long wide(long a, double b, int c) {
        long r = a + (long) b + c;
        a = -1;
        b = -2;
        c = -3;
        return r;
    }

    static float third(float f, long pad) {
        float r = f / 4;
        f = 0;
        pad = 0;
        return r;
    }

    static double half(double d, boolean pad) {
        double r = d / 2;
        d = 0;
        return r;
    }

    static boolean not(boolean b) {
        b = !b;
        return b;
    }

    static char next(char c) {
        return ++c;
    }

    static byte low(short s, byte b) {
        return (byte) (s + b);
    }

    static short twice(byte b) {
        return (short) (b * 2);
    }

    static String join(String[] parts, int[] numbers) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < parts.length; i++) {
            if (numbers[i] == 0) {
                continue;
            }
            text.append(parts[i]).append(numbers[i]);
        }
        parts = null;
        numbers = null;
        return text.toString();
    }

    static int[] array(int n) {
        int[] a = new int[n];
        for (int i = 0; i < n; i++) {
            a[i] = i * i;
        }
        return a;
    }

    Object me(Object other) {
        if (other == this) {
            return null;
        }
        other = null;
        return this;
    }

    long sum(long first, int... rest) {
        for (int r : rest) {
            first += r;
        }
        return first + n;
    }

    static void fails(String why) {
        throw new IllegalStateException(why);
    }

    static int maybe(int n) throws Exception {
        try {
            if (n == 0) {
                return add(1, 1);
            }
            if (n == 1) {
                throw new Exception("one");
            }
            switch (n) {
                case 2: return 22;
                case 3: break;
                default: fails("many");
            }
        } catch (IllegalStateException e) {
            return -1;
        } finally {
            n++;
        }
        return n;
    }

    static int caught(int n) {
        try {
            return add(n, 1);
        } catch (RuntimeException e) {
            return -1;
        }
    }

    static synchronized int locked(int depth) {
        synchronized (Log.LOCK) {
            return depth == 0 ? 0 : 1 + locked(depth - 1);
        }
    }

    @SuppressWarnings("unchecked")
    static <T extends Comparable<T>> T max(T a, T b) {
        return a.compareTo(b) > 0 ? a : b;
    }

    static int parse(String text) {
        return Integer.parseInt(text);
    }

    /** A subclass whose constructors fail before and within the one above. */
    static class Sub extends Shapes {
        final String text;
        static int made;

        static {
            made = 40;
        }

        Sub(String text, boolean sign) {
            super(sign ? -parse(text) : parse(new String(text)));
            this.text = text;
            made++;
            text = null;
        }

        Sub(long n) {
            this(String.valueOf(n), n < -5);
        }
    }

    /** Methods of interfaces. */
    interface Greets {
        default String greet(String name) {
            return word() + " " + name;
        }

        default String word() {
            return shout("hello");
        }

        static String shout(String s) {
            return s.toUpperCase();
        }
    }

    interface Call {
        Object call() throws Exception;
    }

    static void show(String name, Call call) {
        try {
            System.out.println(name + " = " + Log.show(call.call()));
        } catch (Throwable e) {
            System.out.println(name + " throws " + e);
        }
    }

    public static void main(String[] args) {
        show("nothing", () -> { nothing(); return "done"; });
        show("add", () -> add(3, 4));
        show("wide", () -> wide(1L << 40, 2.5, 3));
        show("third", () -> third(3, 9));
        show("half", () -> half(3, true));
        show("not", () -> not(true));
        show("next", () -> next('x'));
        show("low", () -> low((short) 300, (byte) 1));
        show("twice", () -> twice((byte) -100));
        show("join", () -> join(new String[] {"a", "b", "c"}, new int[] {1, 0, 3}));
        show("array", () -> array(4));
        Shapes s = new Shapes();
        show("me", () -> s.me(s));
        show("me", () -> s.me("other") == s);
        show("sum", () -> s.sum(1, 2, 3));
        show("fails", () -> { fails("because"); return null; });
        for (int i = 0; i < 5; i++) {
            int n = i;
            show("maybe " + n, () -> maybe(n));
        }
        show("caught", () -> caught(5));
        show("locked", () -> locked(3));
        show("max", () -> max("a", "b"));
        show("Shapes(5)", () -> new Shapes(5).n);
        show("Shapes(-5)", () -> new Shapes(-5).n);
        show("Sub(7)", () -> new Sub("7", false).text);
        show("Sub(8, sign)", () -> new Sub("8", true).text);
        show("Sub(x)", () -> new Sub("x", false).text);
        show("Sub(long)", () -> new Sub(12).n + Sub.made);
        show("greet", () -> new Greets() { }.greet("you"));
        // Entered and not left: this method, and the two constructors that failed before the one above had returned.
        if (Log.depth() != 0) {
            Log.add("depth " + Log.depth());
        }
    }
}
