package shop.store;

/** A statement the database refused, with its text. */
public final class StoreException extends RuntimeException {
    private static final long serialVersionUID = 1;

    StoreException(String sql, Exception cause) {
        super(sql + ": " + cause.getMessage(), cause);
    }
}
