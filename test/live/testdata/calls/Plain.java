package calls;

import harness.Tally;

/** Static and virtual calls, overriding, varargs, long and double arguments. */
class Plain {
    static final int ADD = Tally.exact(Plain.class, "addInts", 10, 0);
    static final int NOTHING = Tally.exact(Plain.class, "doNothing", 10, 0);
    static final int SCALE = Tally.exact(Plain.class, "scaleInBase", 10, 0);
    static final int SCALE_BASE = Tally.exact(Plain.class, "overridden", 20, 0);
    static final int SCALE_SUB = Tally.exact(Sub.class, "overridden", 10, 0);
    static final int HIDDEN = Tally.exact(Plain.class, "privateOne", 10, 0);
    static final int WIDE = Tally.exact(Plain.class, "longsAndDoubles", 10, 0);
    static final int ALL = Tally.exact(Plain.class, "eightKinds", 10, 0);
    static final int VARIABLE = Tally.exact(Plain.class, "variableArguments", 30, 0);
    static final int OVERLOAD_INT = Tally.exact(Plain.class, "overloaded(I)I", 10, 0);
    static final int OVERLOAD_LONG = Tally.exact(Plain.class, "overloaded(J)J", 10, 0);
    static final int OUTER = Tally.exact(Plain.class, "outer", 10, 0);
    static final int MIDDLE = Tally.exact(Plain.class, "middle", 20, 0);
    static final int INNER = Tally.exact(Plain.class, "inner", 60, 0);

    static final class Sub extends Plain {
        @Override
        long overridden(long x) {
            Tally.in(SCALE_SUB);
            return super.overridden(x) + 1;
        }
    }

    static int addInts(int a, int b) {
        Tally.in(ADD);
        return a + b;
    }

    static void doNothing() {
        Tally.in(NOTHING);
    }

    final long scaleInBase(int x) {
        Tally.in(SCALE);
        return privateOne(x) * 3L;
    }

    private int privateOne(int x) {
        Tally.in(HIDDEN);
        return x + 7;
    }

    long overridden(long x) {
        Tally.in(SCALE_BASE);
        return x * 5;
    }

    static double longsAndDoubles(long a, double b, int c, long d, double e) {
        Tally.in(WIDE);
        return a + b * c - d + e;
    }

    static String eightKinds(boolean a, byte b, char c, short d, int e, long f, float g, double h, int[][] i, String j) {
        Tally.in(ALL);
        return a + "" + b + c + d + e + f + g + h + i.length + j;
    }

    static int variableArguments(Object... all) {
        Tally.in(VARIABLE);
        return all.length;
    }

    static int overloaded(int x) {
        Tally.in(OVERLOAD_INT);
        return x + 1;
    }

    static long overloaded(long x) {
        Tally.in(OVERLOAD_LONG);
        return x + 2;
    }

    static long outer(long x) {
        Tally.in(OUTER);
        return middle(x) + middle(x + 1);
    }

    static long middle(long x) {
        Tally.in(MIDDLE);
        return inner(x) ^ inner(x + 1) ^ inner(x + 2);
    }

    static long inner(long x) {
        Tally.in(INNER);
        return x * x;
    }

    static long work() {
        Plain base = new Plain();
        Plain sub = new Sub();
        long sum = 0;
        for (int i = 0; i < 10; i++) {
            sum += addInts(i, 2);
            doNothing();
            sum += base.scaleInBase(i) + base.overridden(i) + sub.overridden(i);
            sum += Double.doubleToLongBits(longsAndDoubles(i, 0.5, 3, 1L << 40, -1.25));
            sum += eightKinds(true, (byte) i, 'c', (short) 4, 5, 6L, 7.5f, 8.25, new int[2][3], "end").hashCode();
            sum += variableArguments() + variableArguments(i) + variableArguments(i, "x", null);
            sum += overloaded(i) + overloaded((long) i) + outer(i);
        }
        return sum;
    }
}
