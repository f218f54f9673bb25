package shop.web;

/** A request that does not say what it should. */
final class BadRequest extends RuntimeException {
    private static final long serialVersionUID = 1;

    BadRequest(String reason) {
        super(reason);
    }
}
