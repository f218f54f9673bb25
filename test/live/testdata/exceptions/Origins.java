package exceptions;

import harness.Tally;

/** Exceptions that no throw statement made: from instructions, from the JVM, from native methods. */
final class Origins {
    static final int DIVIDES = Tally.exact(Origins.class, "divides", 6, 2);
    static final int INDEXES = Tally.exact(Origins.class, "indexes", 6, 3);
    static final int FOLLOWS = Tally.exact(Origins.class, "followsNull", 6, 1);
    static final int CASTS = Tally.exact(Origins.class, "casts", 6, 3);
    static final int NEGATIVE = Tally.exact(Origins.class, "makesArray", 6, 1);
    static final int MONITOR = Tally.exact(Origins.class, "locksNull", 6, 1);
    static final int NATIVE = Tally.exact(Origins.class, "callsNative", 6, 6);
    static final int CHECKED = Tally.exact(Origins.class, "throwsUndeclared", 6, 6);

    private Origins() {
    }

    static int divides(int x) {
        Tally.in(DIVIDES);
        return 100 / (x % 3);
    }

    static int indexes(int x) {
        Tally.in(INDEXES);
        return new int[] {1, 2, 3}[x];
    }

    static int followsNull(int x) {
        Tally.in(FOLLOWS);
        String text = x == 4 ? null : "text";
        return text.length();
    }

    static String casts(Object x) {
        Tally.in(CASTS);
        return (String) x;
    }

    static int makesArray(int x) {
        Tally.in(NEGATIVE);
        return new long[x - 1].length;
    }

    static int locksNull(int x) {
        Tally.in(MONITOR);
        Object lock = x == 3 ? null : "lock";
        synchronized (lock) {
            return x;
        }
    }

    static void callsNative() {
        Tally.in(NATIVE);
        System.arraycopy(new int[1], 0, new long[1], 0, 1);
    }

    static void throwsUndeclared() {
        Tally.in(CHECKED);
        Origins.<RuntimeException>sneak(new Exception("undeclared"));
    }

    @SuppressWarnings("unchecked")
    private static <T extends Throwable> void sneak(Throwable t) throws T {
        throw (T) t;
    }

    interface Attempt {
        long make() throws Exception;
    }

    /** Counts the exception for a method that has no handler of its own. */
    private static long attempt(int id, Attempt attempt) {
        try {
            return attempt.make();
        } catch (Exception e) {
            Tally.out(id, e);
            return e.getClass().getName().hashCode();
        }
    }

    static long work() {
        long sum = 0;
        for (int i = 0; i < 6; i++) {
            int x = i;
            sum += attempt(DIVIDES, () -> divides(x)) + attempt(INDEXES, () -> indexes(x));
            sum += attempt(FOLLOWS, () -> followsNull(x)) + attempt(NEGATIVE, () -> makesArray(x));
            sum += attempt(CASTS, () -> casts(x % 2 == 0 ? "text" : (Object) x).length());
            sum += attempt(MONITOR, () -> locksNull(x));
            sum += attempt(NATIVE, () -> {
                callsNative();
                return 0;
            });
            sum += attempt(CHECKED, () -> {
                throwsUndeclared();
                return 0;
            });
        }
        return sum;
    }
}
