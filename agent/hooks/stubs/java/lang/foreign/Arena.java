package java.lang.foreign;

/** What the hooks use of the JDK's own interface, for the compiler; never packed. */
public interface Arena {
    static Arena global() {
        throw new IllegalStateException();
    }
}
