package java.lang;

import static java.lang.SondeHooks.U;

import java.lang.ref.WeakReference;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ForkJoinTask;

/** The context that a task was made, or handed over, in. It does not keep the task. */
final class SondeHooksCarried extends WeakReference<Object> {
    private static final long PENDING = U.objectFieldOffset(SondeHooksCarried.class, "pending");

    final int hash;
    /** With its mark; of the prefixes only those matched somewhere, as nobody is called directly by another thread. */
    final long path;
    /** Null for none. */
    final SondeHooksTag tags;
    final long transaction;
    /** How often it was handed over and has not begun. */
    private volatile int pending = 1;
    private volatile boolean ambiguous;

    SondeHooksCarried(Object task, long path, SondeHooksTag tags, long transaction) {
        super(task);
        this.hash = hash(task);
        this.path = path;
        this.tags = tags;
        this.transaction = transaction;
    }

    static int hash(Object task) {
        return System.identityHashCode(task) * 0x9E3779B1;
    }

    boolean isOf(Object task) {
        return get() == task;
    }

    /** Whether nobody can ever ask for it again. */
    boolean isOver() {
        Object task = get();
        // Of other threads a program may have overridden that, and run here.
        return task == null || task instanceof Thread && SondeHooksPlaces.isVirtual((Thread) task)
                && ((Thread) task).getState() == Thread.State.TERMINATED;
    }

    /** Whether it is of a task that a fork-join task was split into, or may be. */
    boolean isFork() {
        Object task = get();
        return !(task instanceof CompletableFuture.AsynchronousCompletionTask) && task instanceof ForkJoinTask;
    }

    /** Whether it says something, and that of the paths there are now. */
    boolean isGood() {
        return !ambiguous && (path & ~SondeHooksPath.PREFIXES) == SondeHooksPath.mark;
    }

    boolean isSame(long otherPath, SondeHooksTag otherTags, long otherTransaction) {
        return path == otherPath && tags == otherTags && transaction == otherTransaction;
    }

    /** Has it say nothing, since it was handed over twice; whether it did before. */
    boolean spoil() {
        boolean was = ambiguous;
        ambiguous = true;
        return !was;
    }

    /** Changes by how much it is pending; gives what it is then. */
    int pend(int by) {
        int was;
        do {
            was = pending;
        } while (!U.compareAndSetInt(this, PENDING, was, was + by));
        return was + by;
    }
}
