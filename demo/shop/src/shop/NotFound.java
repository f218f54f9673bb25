package shop;

/** Something asked for by its number that the shop does not have. */
public final class NotFound extends RuntimeException {
    private static final long serialVersionUID = 1;

    public NotFound(String what, long id) {
        super("no " + what + " " + id);
    }
}
