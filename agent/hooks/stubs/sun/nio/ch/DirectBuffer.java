package sun.nio.ch;

import jdk.internal.ref.Cleaner;

/** What the hooks use of the JDK's own interface, for the compiler; never packed. */
public interface DirectBuffer {
    Cleaner cleaner();
}
