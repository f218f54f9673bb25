package java.lang;

/** State of a thread on the heap besides its place: its tags, and the task it runs. Only its owner uses it. */
final class SondeHooksState {
    /** The table of the place: a state of an earlier arena is ignored. */
    final long[] table;
    /** Without tags; repeated first values are found below it. */
    private final SondeHooksTag none = new SondeHooksTag();
    SondeHooksTag tags = none;
    /** The task whose context the thread has. */
    Object task;
    /** For a worker of a pool: its context before the task. */
    SondeHooksAside pooled;
    /** The context in which the thread was made; null for none. A virtual thread may give up its place when it has no other. */
    SondeHooksCarried own;
    /** For that: where the thread was in its tree, see {@link SondeHooksPart#join}; 0 if nothing changed. */
    long began;
    /** The nanoseconds that the task of the thread has waited for it, until a spot has them; 0 if unknown. */
    long waited;
    /** The hash of that task. */
    int waiter;

    SondeHooksState(long[] table) {
        this.table = table;
    }

    boolean hasTags() {
        return tags.isSet();
    }

    /** Forgets everything except the values that are reused. */
    void clear() {
        tags = none;
        task = null;
        pooled = null;
        own = null;
        began = 0;
        waited = 0;
        waiter = 0;
    }

    /** Sets the tags of the thread; null for none. */
    void under(SondeHooksTag wanted) {
        tags = wanted == null ? none : wanted;
    }
}
