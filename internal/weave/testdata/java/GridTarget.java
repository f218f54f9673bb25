/** A target whose first instruction is that of a loop, one without variables, and a constructor that throws. */
public class GridTarget {
    private int n;

    GridTarget(int n) {
        this.n = n;
        if (n > 100) throw new IllegalStateException();
    }

    boolean more() { return n-- > 0; }

    void loop() {
        while (more()) {
            if (n == 7) System.out.print("");
        }
    }

    static boolean never() { return false; }

    static void noLocals() {
        if (never()) never();
    }

    static int next(int i) {
        if (i == 3) throw new IllegalArgumentException("three");
        return i + 1;
    }

    public static int run(int i) {
        new GridTarget(i).loop();
        noLocals();
        return next(i);
    }
}
