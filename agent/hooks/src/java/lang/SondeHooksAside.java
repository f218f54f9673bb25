package java.lang;

/** What a thread was in before it took up a task: back in that it will be when the task is done. */
final class SondeHooksAside {
    /** The table of its place, which tells arenas apart. */
    final long[] table;
    final long place;
    /** With its mark. */
    final long path;
    final SondeHooksTag tags;
    final Object task;
    /** Whether a transaction was put aside, or joined. */
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
