package support;

import java.lang.reflect.InvocationTargetException;

/** What the program's methods throw. */
public final class Boom extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public Boom() {
        super("boom", null, false, false);
    }

    /** What came out of a call by reflection, as it was thrown. */
    public static RuntimeException of(Throwable thrown) {
        Throwable cause = thrown instanceof InvocationTargetException ? thrown.getCause() : thrown;
        if (cause instanceof Boom) {
            return (Boom) cause;
        }
        if (cause instanceof Error) {
            throw (Error) cause;
        }
        return new IllegalStateException(cause);
    }
}
