/** What the woven classes call. It counts, so that a run can tell that they do. */
public final class Hooks {
    static long entered;
    static long left;

    private Hooks() {}

    public static void enter(int id) {
        entered++;
    }

    public static void exit(int id) {
        left++;
    }
}
