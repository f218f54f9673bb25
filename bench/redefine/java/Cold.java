/** A class that is loaded and that nothing compiled depends on. */
public final class Cold {
    static int answer() {
        return 42;
    }

    private Cold() {
    }
}
