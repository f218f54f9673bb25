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
    /** Where it was in its tree, see {@link SondeHooksPart#join}; 0 if the task does not change that. */
    long part;
    /** The word of the place. */
    final long word;

    SondeHooksAside(long[] table, long place, long word, long path, SondeHooksTag tags, Object task, boolean joined) {
        this.table = table;
        this.place = place;
        this.word = word;
        this.path = path;
        this.tags = tags;
        this.task = task;
        this.joined = joined;
    }
}
