import java.util.NoSuchElementException;

/** Methods without a normal end: endless loops left by exceptions, only athrow, code after which nothing comes. */
public final class NeverReturns {
    static int ticks;

    static void endless() {
        while (true) {
            tick();
        }
    }

    static int endlessWithValue(int[] cells) {
        for (int i = 0;; i++) {
            cells[i]++;
        }
    }

    static void tick() {
        if (++ticks % 10 == 0) {
            throw new NoSuchElementException("tick " + ticks);
        }
    }

    static int onlyThrows() {
        throw new UnsupportedOperationException("only throws");
    }

    static RuntimeException sneaky(Throwable e) {
        return NeverReturns.<RuntimeException>sneak(e);
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> E sneak(Throwable e) throws E {
        throw (E) e;
    }

    static long throwsInBothBranches(boolean which) {
        if (which) {
            throw new IllegalStateException("yes");
        } else {
            throw new IllegalArgumentException("no");
        }
    }

    static synchronized double throwsHoldingAMonitor() {
        throw new ArithmeticException("held " + Thread.holdsLock(NeverReturns.class));
    }

    static String retries(int limit) {
        int attempts = 0;
        while (true) {
            try {
                if (++attempts < limit) {
                    onlyThrows();
                }
                throw new IllegalStateException("gave up after " + attempts);
            } catch (UnsupportedOperationException e) {
                continue;
            }
        }
    }

    NeverReturns() {
        throw new IllegalStateException("constructor never returns");
    }

    public static void main(String[] args) {
        attempt(NeverReturns::endless);
        attempt(() -> endlessWithValue(new int[5]));
        attempt(NeverReturns::onlyThrows);
        attempt(() -> sneaky(new Exception("checked")));
        attempt(() -> throwsInBothBranches(true));
        attempt(() -> throwsInBothBranches(false));
        attempt(NeverReturns::throwsHoldingAMonitor);
        attempt(() -> retries(4));
        attempt(NeverReturns::new);
        System.out.println(Thread.holdsLock(NeverReturns.class));
    }

    static void attempt(Runnable action) {
        try {
            action.run();
        } catch (Exception e) {
            System.out.println(e + " at " + e.getStackTrace()[0]);
        }
    }
}
