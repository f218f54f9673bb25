package fixture;

import java.util.concurrent.atomic.AtomicLong;

/** What the rich template tells. It calls nothing of the program: not even toString of what it is handed. */
public final class RichRuntime {
    private static final AtomicLong ENTERED = new AtomicLong();
    private static final AtomicLong LEFT = new AtomicLong();
    private static final AtomicLong INCONSISTENT = new AtomicLong();

    private RichRuntime() {
    }

    public static long enter(int method) {
        ENTERED.incrementAndGet();
        return ~(long) method;
    }

    public static void returned(String name, Object result) {
        check(name != null && (result == null || name.charAt(name.length() - 1) != 'V'));
    }

    public static void threw(String name, RuntimeException thrown, int parameters) {
        check(name != null && thrown != null && parameters >= 0);
    }

    public static void left(long token, Object self, double weight, boolean returned, int rounds) {
        LEFT.incrementAndGet();
        check(token < 0 == ~token >= 0 && weight >= 0.5 && rounds == (returned ? 3 : 2) && self != LEFT);
    }

    /** An assertion of the template's own state that must not disturb the program: it is only counted. */
    private static void check(boolean holds) {
        if (!holds) {
            INCONSISTENT.incrementAndGet();
        }
    }

    public static long entered() {
        return ENTERED.get();
    }

    public static long left() {
        return LEFT.get();
    }

    public static long inconsistent() {
        return INCONSISTENT.get();
    }
}
