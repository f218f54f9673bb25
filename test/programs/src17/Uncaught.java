/** The program ends by an uncaught exception with a cause and a suppressed one: exit code 1, trace on stderr. */
public final class Uncaught {
    public static void main(String[] args) throws Exception {
        System.out.println("before");
        new Uncaught().level(3);
        System.out.println("never printed");
    }

    void level(int n) throws Exception {
        try {
            if (n == 0) {
                Object nothing = null;
                nothing.hashCode();
            }
            level(n - 1);
        } catch (NullPointerException e) {
            Exception wrapped = new Exception("wrapped", e);
            wrapped.addSuppressed(new IllegalStateException("on the side"));
            throw wrapped;
        } finally {
            System.out.println("level " + n);
        }
    }
}
