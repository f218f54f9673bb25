/**
 * The template of generated classes: the program Churn replaces its name by another one of the same length. Each method
 * is called by the one above it only.
 */
public class G0_000000_00 implements Churn.Task {
    public long applyAsLong(long n, Churn.Base base) {
        return m0(n, base) + 1;
    }

    static long m0(long n, Churn.Base base) {
        return m1(n, base) * 3 + spin(n);
    }

    static long m1(long n, Churn.Base base) {
        long sum = n;
        for (int i = 0; i < 5; i++) {
            sum += m2(sum + i, base);
        }
        return sum;
    }

    static long m2(long n, Churn.Base base) {
        return m3(n ^ 7, base) + base.value(n);
    }

    static long m3(long n, Churn.Base base) {
        for (long i = 0; i < 40; i++) {
            n = n * 31 + i;
        }
        if ((n & 0xFFF) == 0) {
            n += base.value(n); // rarely: compiled code has a trap here at first
        }
        return n;
    }

    static long spin(long n) {
        for (long i = 0; i < 20; i++) {
            n = n * 17 + i;
        }
        return n;
    }
}
