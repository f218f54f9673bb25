import java.io.PrintStream;

/** Prints what could not be linked, a line each, in a form that does not differ from run to run. */
final class Failures {
    private final PrintStream out = System.out;
    private int linked;

    /** Loads and links; getDeclaredMethods links in HotSpot, and with -Xverify:all linking verifies. */
    interface Loading {
        Class<?> load() throws Throwable;
    }

    /** Tries one class; the loader is asked which classes there are. */
    void attempt(String where, String name, ClassLoader loader, Loading loading) {
        try {
            Class<?> type = loading.load();
            if (type == null) {
                out.println(where + "\t" + name + "\tnot found");
                return;
            }
            type.getDeclaredMethods();
            type.getDeclaredConstructors();
            linked++;
        } catch (NoClassDefFoundError e) {
            out.println(where + "\t" + name + "\t" + (isMissing(e.getMessage(), loader) ? "needs what no jar has" : oneLine(e)));
        } catch (Throwable e) {
            out.println(where + "\t" + name + "\t" + oneLine(e));
        }
    }

    void end() {
        out.println("linked\t" + linked);
        out.flush();
    }

    /**
     * Of several missing classes the JVM names the first it comes to, in an order of methods that differs from
     * run to run; so the name says nothing, provided that the class really is not there.
     */
    private static boolean isMissing(String name, ClassLoader loader) {
        String type = name.startsWith("[") ? name.substring(name.indexOf('L') + 1, name.length() - 1) : name;
        return loader.getResource(type + ".class") == null;
    }

    /** The whole text, because it says what the verifier saw, without the addresses in names of loaders. */
    private static String oneLine(Throwable e) {
        return e.toString().replaceAll("@(0x)?[0-9a-f]+", "@").replaceAll("\\s*\\R\\s*", " | ");
    }
}
