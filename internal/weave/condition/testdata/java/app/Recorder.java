package app;

/** What conditions answered. */
public final class Recorder {
    static boolean on;
    static int answer = -9;
    static String text;
    static double sum;
    static long time;

    private Recorder() {
    }

    public static void answer(int a) {
        answer = a;
    }

    public static void text(String t) {
        text = t;
    }

    public static void add(double d) {
        sum += d;
    }

    /** Each reading is a millisecond behind the one before. */
    public static long clock() {
        return time += 1_000_000;
    }

    public static String tag(int number) {
        return number == 1 ? "gold" : null;
    }
}
