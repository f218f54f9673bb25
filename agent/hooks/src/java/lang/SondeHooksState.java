package java.lang;

/** What a thread has on the heap beside its place: the tags it is under, and the task it runs. Its owner's alone. */
final class SondeHooksState {
    /** The table of the place: a state of an earlier arena is nobody's. */
    final long[] table;
    /** No tags, so that the first value that repeats is found below it. */
    private final SondeHooksTag none = new SondeHooksTag();
    SondeHooksTag tags = none;
    /** The task whose context the thread has taken up. */
    Object task;
    /** Of a worker of a pool, what it was in before its task. */
    SondeHooksAside pooled;
    /** Of a virtual thread, what it began with: it may give up its place whenever it has no more than that. */
    SondeHooksCarried own;

    SondeHooksState(long[] table) {
        this.table = table;
    }

    boolean hasTags() {
        return tags.isSet();
    }

    /** Forgets all but what makes repeated values cheap. */
    void clear() {
        tags = none;
        task = null;
        pooled = null;
        own = null;
    }

    /** Has the thread under these tags; null is none. */
    void under(SondeHooksTag wanted) {
        tags = wanted == null ? none : wanted;
    }
}
