package java.lang;

/**
 * What the matrix's templates call, from every method of the JDK and so from the constructor of Object on: it
 * touches no other class, allocates nothing and cannot fail. Counts may lose increments; nobody reads them.
 */
public final class SondeHook {
    private static long depth;

    private SondeHook() {
    }

    public static long enter(int method) {
        return ++depth ^ method;
    }

    public static void exit(long token) {
        if (token != 0) {
            depth--;
        }
    }

    public static void threw(String name, Throwable thrown, int parameters) {
        if (name == null || thrown == null) {
            depth += parameters;
        }
    }

    public static void left(long token, Object self, double weight, boolean returned, int rounds) {
        if (self == null && weight > 1e300 && returned) {
            depth += rounds;
        }
        exit(token);
    }
}
