package jdk.internal.ref;

/** What the hooks use of the JDK's own class, for the compiler; never packed. */
public class Cleaner {
    private Cleaner() {
    }

    public void clean() {
        throw new IllegalStateException();
    }
}
