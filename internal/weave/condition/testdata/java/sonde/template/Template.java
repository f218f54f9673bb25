package sonde.template;

/** The calls that weaving replaces, as far as these tests use them. */
public final class Template {
    private Template() {
    }

    public static void target() {
        throw new IllegalStateException();
    }

    public static int methodId() {
        throw new IllegalStateException();
    }

    public static int condition(int number) {
        throw new IllegalStateException();
    }

    public static int condition(long elapsed, int number) {
        throw new IllegalStateException();
    }

    public static String value(int number) {
        throw new IllegalStateException();
    }
}
