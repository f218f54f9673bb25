/** Arguments and results of every type, two-slot ones in odd places, and parameters that are assigned to. */
public final class WideValues {
    public static void main(String[] args) {
        System.out.println(mixed(1, 2L, 3f, 4d, 5L, (byte) 6, 'c', (short) 7, true, 8d));
        System.out.println(new WideValues().instance(-1L, Double.MIN_VALUE, Long.MAX_VALUE));
        System.out.println(longs(1L << 40, 3) + " " + doubles(2.0, 0.5) + " " + floats(1.5f, 2f));
        System.out.println(assigned(5, 10L, "text"));
        System.out.println(Double.doubleToLongBits(nan()) + " " + Float.floatToIntBits(negativeZero()) + " " + infinite());
        System.out.println(compare(1.0, Double.NaN) + compare(Double.NaN, 1.0) + compare(2.0, 1.0));
        System.out.println(shifts(-12345678901234L, 70) + " " + overflow(Long.MAX_VALUE) + " " + divide(Long.MIN_VALUE, -1));
        System.out.println((int) 1e20 + " " + (long) Float.NaN + " " + (char) 65.9 + " " + (byte) 300L + " " + (float) 1e40);
        System.out.println(conditional(true) + conditional(false));
        System.out.println(chain(3));
        try {
            divide(1L, 0);
        } catch (ArithmeticException e) {
            System.out.println(e.getMessage() + " at " + e.getStackTrace()[0]);
        }
    }

    static String mixed(int a, long b, float c, double d, long e, byte f, char g, short h, boolean i, double j) {
        return a + " " + b + " " + c + " " + d + " " + e + " " + f + " " + g + " " + h + " " + i + " " + j;
    }

    long instance(long a, double b, long c) {
        return b > 0 ? a ^ c : 0;
    }

    static long longs(long n, int times) {
        long result = n;
        while (times-- > 0) {
            result = result * 31 + times;
        }
        return result;
    }

    static double doubles(double a, double b) {
        double swap = a;
        a = b;
        b = swap;
        return Math.pow(b, a) % 1.25;
    }

    static float floats(float a, float b) {
        return a * b - a / b;
    }

    /** Parameters become something else than what was passed, of the same slot. */
    static String assigned(int n, long wide, String text) {
        n += 100;
        wide = ~wide;
        text = text + n;
        for (; n > 103; n--) {
            wide += n;
        }
        return text + wide + n;
    }

    static double nan() {
        return 0.0 / 0.0;
    }

    static float negativeZero() {
        return -0f;
    }

    static double infinite() {
        return -1.0 / 0;
    }

    static String compare(double a, double b) {
        return (a < b) + "" + (a > b) + (a >= b) + (a == b) + " ";
    }

    static long shifts(long n, int by) {
        return (n >> by) ^ (n >>> by) ^ (n << by);
    }

    static long overflow(long n) {
        return n + 1;
    }

    static long divide(long a, long b) {
        return a / b;
    }

    static double conditional(boolean which) {
        return which ? 1L : 2.5;
    }

    static long chain(long n) {
        return n <= 0 ? 1L : n * chain(n - 1) + (long) Math.floor(doubles(n, 2));
    }
}
