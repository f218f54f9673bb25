package exceptions;

import harness.Tally;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/**
 * Exceptions on their way. A method without a handler cannot count how it ends: here whoever
 * catches counts for all that the exception came through.
 */
final class Through {
    static final int CATCHES = Tally.exact(Through.class, "catchesFarUp", 5, 0);
    static final int BARE = Tally.exact(Through.class, "withoutHandler", 5 * 21, 5 * 21);
    static final int LIBRARY = Tally.exact(Through.class, "throughLibrary", 5, 5);
    static final int ACCEPT = Tally.exact(Through.class, "inLibrarysLoop", 5 * 3, 5);
    static final int COMPARE = Tally.exact(Through.class, "inComparison", 5, 5);
    static final int REFLECTED = Tally.exact(Through.class, "throughReflection", 5, 5);
    static final int TARGET = Tally.exact(Through.class, "reflectedTarget", 5, 5);
    static final int RETHROWS = Tally.exact(Through.class, "rethrows", 5, 5);
    static final int WRAPS = Tally.exact(Through.class, "wraps", 5, 5);
    static final int CLEANS = Tally.exact(Through.class, "cleansUp", 5, 5);
    static final int CLOSE = Tally.exact(Resource.class, "close", 10, 5);
    static final int CATCHES_SOME = Tally.exact(Through.class, "catchesEverySecond", 5, 3);

    /** A resource whose closing may fail in its turn. */
    record Resource(boolean fails) implements AutoCloseable {
        @Override
        public void close() {
            Tally.in(CLOSE);
            if (fails) {
                throw Tally.out(CLOSE, new IllegalStateException("closing"));
            }
        }
    }

    private Through() {
    }

    static void withoutHandler(int n) {
        Tally.in(BARE);
        if (n == 0) {
            throw new IllegalStateException("far down");
        }
        withoutHandler(n - 1);
    }

    static int catchesFarUp(int n) {
        Tally.in(CATCHES);
        try {
            withoutHandler(n);
        } catch (IllegalStateException e) {
            Tally.add(BARE, 0, n + 1);
            return ownFrames(e);
        }
        return 0;
    }

    /** Sums up the frames of this package, which nothing woven into the program may change. */
    private static int ownFrames(Throwable t) {
        int sum = 0;
        for (StackTraceElement frame : t.getStackTrace()) {
            if (frame.getClassName().startsWith("exceptions.")) {
                sum = sum * 31 + frame.getMethodName().hashCode() + frame.getLineNumber();
            }
        }
        return sum;
    }

    static void inLibrarysLoop(int i) {
        Tally.in(ACCEPT);
        if (i == 2) {
            throw Tally.out(ACCEPT, new IllegalArgumentException("third"));
        }
    }

    static int inComparison(String a, String b) {
        Tally.in(COMPARE);
        throw Tally.out(COMPARE, new UnsupportedOperationException("compare"));
    }

    static void throughLibrary() {
        Tally.in(LIBRARY);
        try {
            new ArrayList<>(List.of(0, 1, 2, 3)).forEach(Through::inLibrarysLoop);
        } catch (IllegalArgumentException e) {
            new TreeMap<String, Integer>(Through::inComparison).put("a", 1);
        } finally {
            Tally.add(LIBRARY, 0, 1);
        }
    }

    static void reflectedTarget(int n) throws Exception {
        Tally.in(TARGET);
        throw Tally.out(TARGET, new Exception("target " + n));
    }

    static void throughReflection(int n) throws Exception {
        Tally.in(REFLECTED);
        Method method = Through.class.getDeclaredMethod("reflectedTarget", int.class);
        try {
            method.invoke(null, n);
        } catch (InvocationTargetException e) {
            throw Tally.out(REFLECTED, e);
        }
    }

    static void wraps(int n) {
        Tally.in(WRAPS);
        try {
            throughReflection(n);
        } catch (Exception e) {
            throw Tally.out(WRAPS, new IllegalStateException(e));
        }
    }

    static void rethrows(int n) {
        Tally.in(RETHROWS);
        try {
            wraps(n);
        } catch (IllegalStateException e) {
            throw Tally.out(RETHROWS, e);
        }
    }

    static void cleansUp(int n) {
        Tally.in(CLEANS);
        try (Resource first = new Resource(true); Resource second = new Resource(false)) {
            rethrows(n);
        } finally {
            Tally.add(CLEANS, 0, 1);
        }
    }

    static int catchesEverySecond(int n) {
        Tally.in(CATCHES_SOME);
        try {
            cleansUp(n);
        } catch (IllegalStateException e) {
            if (n % 2 == 0) {
                throw Tally.out(CATCHES_SOME, e);
            }
            return e.getSuppressed().length;
        }
        return 0;
    }

    static long work() {
        long sum = 0;
        for (int i = 0; i < 5; i++) {
            sum += catchesFarUp(20);
            try {
                throughLibrary();
            } catch (UnsupportedOperationException e) {
                sum += e.getMessage().length();
            }
            try {
                sum += catchesEverySecond(i);
            } catch (IllegalStateException e) {
                sum += e.getCause().getCause().getMessage().hashCode();
            }
        }
        return sum;
    }
}
