package java.lang;

import java.lang.ref.WeakReference;

/**
 * A member that was reported to Sonde: by its class, which can still be unloaded, and its slot; or by its text. It is
 * immutable, so that threads can share it with plain stores.
 */
final class SondeHooksTold {
    final int hash;
    private final WeakReference<Class<?>> owner; // null if only the text identifies it
    private final int slot;
    private final String text;

    SondeHooksTold(Class<?> owner, int slot) {
        this.hash = hash(owner, slot);
        this.owner = new WeakReference<Class<?>>(owner);
        this.slot = slot;
        this.text = null;
    }

    SondeHooksTold(String text) {
        this.hash = text.hashCode();
        this.owner = null;
        this.slot = 0;
        this.text = text;
    }

    static int hash(Class<?> owner, int slot) {
        return 31 * System.identityHashCode(owner) + slot;
    }

    boolean is(Class<?> wanted, int wantedSlot) {
        return slot == wantedSlot && owner != null && owner.get() == wanted;
    }

    boolean is(String wanted) {
        return text != null && text.equals(wanted);
    }

    boolean isUnloaded() {
        return owner != null && owner.get() == null;
    }
}
