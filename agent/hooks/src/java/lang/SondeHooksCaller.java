package java.lang;

import static java.lang.SondeHooks.U;
import static sonde.layout.Layout.ARRIVAL_SIZE;
import static sonde.layout.Layout.ARRIVAL_TEXT;

import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;

/** A method that called one with a hook, by its number. It does not keep the method's class from being unloaded. */
final class SondeHooksCaller {
    private static final int UNTOLD = 0;
    private static final int BEING_TOLD = 1;
    private static final int TOLD = 2;
    private static final int MOST_TEXT = ARRIVAL_SIZE - ARRIVAL_TEXT;
    private static final long STATE = U.objectFieldOffset(SondeHooksCaller.class, "state");

    final int number;
    private final WeakReference<Class<?>> owner;
    private final String name;
    private final String descriptor;
    private volatile int state;

    SondeHooksCaller(int number, Class<?> owner, String name, String descriptor) {
        this.number = number;
        this.owner = new WeakReference<Class<?>>(owner);
        this.name = name;
        this.descriptor = descriptor;
    }

    static int hash(Class<?> owner, String name, String descriptor) {
        return 31 * (31 * System.identityHashCode(owner) + name.hashCode()) + descriptor.hashCode();
    }

    boolean is(Class<?> wanted, String wantedName, String wantedDescriptor) {
        return owner.get() == wanted && name.equals(wantedName) && descriptor.equals(wantedDescriptor);
    }

    /** Reports to Sonde, once, which method has the number; if there is no room, the next call does. */
    void tell(long[] places, long place, Class<?> declaring) {
        if (state == UNTOLD && U.compareAndSetInt(this, STATE, UNTOLD, BEING_TOLD)) {
            int outcome = UNTOLD;
            try {
                outcome = SondeHooksArrivals.tell(places, place, number, text(declaring)) ? TOLD : UNTOLD;
            } finally {
                state = outcome;
            }
        }
    }

    /** As class.name(descriptor), the class with slashes. */
    byte[] text(Class<?> declaring) {
        return cut(new StringBuilder(declaring.getName().replace('.', '/')).append('.').append(name).append(descriptor));
    }

    /** Is {@link #text} if the class is still loaded. */
    StringBuilder append(StringBuilder text) {
        Class<?> declaring = owner.get();
        text.append(declaring == null ? "" : declaring.getName().replace('.', '/'));
        return text.append('.').append(name).append(descriptor);
    }

    /** The text of a report, truncated if it is too long. */
    static byte[] cut(StringBuilder text) {
        byte[] whole = text.toString().getBytes(StandardCharsets.UTF_8);
        int length = whole.length;
        if (length <= MOST_TEXT) {
            return whole;
        }
        length = MOST_TEXT;
        while ((whole[length] & 0xc0) == 0x80) {
            length--; // the next byte must begin a character
        }
        byte[] cut = new byte[length];
        System.arraycopy(whole, 0, cut, 0, length);
        return cut;
    }
}
