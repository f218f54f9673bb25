package java.lang;

import java.lang.ref.WeakReference;

/** A text that belongs to an object of the program. It does not keep the object reachable. */
final class SondeHooksKept extends WeakReference<Object> {
    final int hash;
    final String text;
    /** How often it was found, about. */
    int uses;

    SondeHooksKept(Object of, String text) {
        super(of);
        this.hash = hash(of);
        this.text = text;
    }

    static int hash(Object of) {
        return System.identityHashCode(of) * 0x9E3779B1;
    }
}
