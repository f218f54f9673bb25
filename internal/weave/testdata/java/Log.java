/** What templates write to: lines that begin with a bar, so that they can be told from the program's own. */
public final class Log {
    private static int depth;
    public static final Object LOCK = new Object();

    private Log() {
    }

    public static void add(String line) {
        System.out.println("| " + line);
    }

    /** A value without anything that changes from run to run. */
    public static String show(Object value) {
        if (value == null || value instanceof String || value instanceof Number || value instanceof Boolean
                || value instanceof Throwable) {
            return String.valueOf(value) + (value instanceof Number ? value.getClass().getSimpleName().charAt(0) : "");
        }
        if (value instanceof Character) {
            return "'" + value + "'";
        }
        if (value instanceof int[]) {
            return java.util.Arrays.toString((int[]) value);
        }
        if (value instanceof Object[]) {
            return java.util.Arrays.toString((Object[]) value);
        }
        return "a " + value.getClass().getSimpleName();
    }

    public static long enter(int method) {
        depth++;
        return ~(long) method;
    }

    public static void exit(long token) {
        depth--;
    }

    public static void left(int method, long token, boolean returned, Object self, double weight) {
        depth--;
        if (token != ~(long) method || weight < 0.5) {
            throw new AssertionError("the template's variables did not survive the target");
        }
    }

    public static void fail() {
        throw new IllegalStateException("the epilog failed");
    }

    /** How many enters are still without their exit. */
    public static int depth() {
        return depth;
    }
}
