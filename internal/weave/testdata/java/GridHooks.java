/** What the templates of Grid call; it never changes what a program does. */
public final class GridHooks {
    private static int asked;

    private GridHooks() {}

    public static boolean on() { return true; }

    public static boolean again() { return (asked++ & 1) == 0; }

    public static int n() { return 1; }

    public static long now() { return 1; }

    public static void hit(int i) {}

    public static void see(Object o) {}

    public static RuntimeException denial() { return new RuntimeException("denied"); }
}
