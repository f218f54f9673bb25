package java.lang;

/** The context that a thread had before it began a task. It is restored when the task is complete. */
final class SondeHooksAside {
    /** The table of its place, which identifies the arena. */
    final long[] table;
    final long place;
    /** With its mark. */
    final long path;
    final SondeHooksTag tags;
    final Object task;
    /** Whether a transaction was suspended or joined. */
    final boolean joined;

    SondeHooksAside(long[] table, long place, long path, SondeHooksTag tags, Object task, boolean joined) {
        this.table = table;
        this.place = place;
        this.path = path;
        this.tags = tags;
        this.task = task;
        this.joined = joined;
    }
}
