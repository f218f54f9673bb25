package office.web;

/** Serves orders of one kind. */
public interface Handler {
    String handle(Request request) throws Exception;
}
