import java.math.BigInteger;

/** Recursion: plain, mutual, through an interface, and until the stack is full; no output depends on the depth. */
public final class Recursion {
    interface Step {
        int apply(Step self, int n);
    }

    static int overflows;

    public static void main(String[] args) {
        System.out.println(factorial(25));
        System.out.println(fibonacci(20));
        System.out.println(even(101) + " " + odd(101));
        System.out.println(ackermann(2, 5));
        Step step = (self, n) -> n == 0 ? 0 : n + self.apply(self, n - 1);
        System.out.println(step.apply(step, 50));
        hanoi(5, "a", "b", "c");
        System.out.println("moves " + moves);
        for (int i = 0; i < 3; i++) {
            try {
                endless(i);
                System.out.println("returned");
            } catch (StackOverflowError e) {
                overflows++;
            }
        }
        System.out.println("overflows " + overflows);
        System.out.println("still alive " + fibonacci(10));
    }

    static BigInteger factorial(int n) {
        return n == 0 ? BigInteger.ONE : BigInteger.valueOf(n).multiply(factorial(n - 1));
    }

    static int fibonacci(int n) {
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    }

    static boolean even(int n) {
        return n == 0 || odd(n - 1);
    }

    static boolean odd(int n) {
        return n != 0 && even(n - 1);
    }

    static int ackermann(int m, int n) {
        if (m == 0) {
            return n + 1;
        }
        return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
    }

    static int moves;

    static void hanoi(int n, String from, String to, String over) {
        if (n > 0) {
            hanoi(n - 1, from, over, to);
            moves++;
            hanoi(n - 1, over, to, from);
        }
    }

    static long endless(long n) {
        return endless(n + 1) + 1;
    }
}
