package java.lang;

import static java.lang.SondeHooks.U;

import java.lang.ref.WeakReference;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ForkJoinTask;

/** The context in which a task was created or submitted. It does not keep the task reachable. */
final class SondeHooksCarried extends WeakReference<Object> {
    private static final long PENDING = U.objectFieldOffset(SondeHooksCarried.class, "pending");
    private static final long LATER = U.objectFieldOffset(SondeHooksCarried.class, "later");

    final int hash;
    /** With its mark; only prefixes that match anywhere, because no method is called directly from another thread. */
    final long path;
    /** Null for none. */
    final SondeHooksTag tags;
    final long transaction;
    /** The ref of the node from which it was handed over; 0 for none. */
    final int node;
    /** How often it was submitted and has not started. */
    private volatile int pending = 1;
    private volatile boolean ambiguous;
    /** When it was submitted, by System.nanoTime; 0 if that is not known. */
    private volatile long since;
    /** The sum over all submissions that have not started: how much later than {@link #since} they were made. */
    private volatile long later;

    SondeHooksCarried(Object task, long path, SondeHooksTag tags, long transaction, int node) {
        super(task);
        this.hash = hash(task);
        this.path = path;
        this.tags = tags;
        this.transaction = transaction;
        this.node = node;
    }

    static int hash(Object task) {
        return System.identityHashCode(task) * 0x9E3779B1;
    }

    boolean isOf(Object task) {
        return get() == task;
    }

    /** Whether it cannot be needed any more. */
    boolean isOver() {
        Object task = get();
        // A program may override this method for other threads; its code must not run here.
        return task == null || task instanceof Thread && SondeHooksPlaces.isVirtual((Thread) task)
                && ((Thread) task).getState() == Thread.State.TERMINATED;
    }

    /** Whether it belongs, or may belong, to a subtask of a fork-join task. */
    boolean isFork() {
        Object task = get();
        return !(task instanceof CompletableFuture.AsynchronousCompletionTask) && task instanceof ForkJoinTask;
    }

    /** Whether it has a context, and one of the current paths. */
    boolean isGood() {
        return !ambiguous && (path & ~SondeHooksPath.PREFIXES) == SondeHooksPath.mark;
    }

    boolean isSame(SondeHooksCarried other) {
        return path == other.path && tags == other.tags && transaction == other.transaction && node == other.node;
    }

    /** Clears it because the task was submitted twice; returns whether it was set. */
    boolean spoil() {
        boolean was = ambiguous;
        ambiguous = true;
        return !was;
    }

    /** Sets when it was submitted, if it is not submitted twice; 0 for unknown. */
    void submitted(long now) {
        since = now;
    }

    /** Adds the time of a further submission. */
    void submittedAgain(long now) {
        if (since != 0) {
            U.getAndAddLong(this, LATER, now - since);
        }
    }

    /**
     * The nanoseconds from a submission until now; 0 if unknown. If it was submitted several times, this is the mean of
     * those that have not started, so that the sum over all is right.
     *
     * @param others how many others have not started
     */
    long waited(int others) {
        if (since == 0) {
            return 0;
        }
        long all;
        long part;
        do {
            all = later;
            part = all / ((others > 0 ? others : 0) + 1);
        } while (!U.compareAndSetLong(this, LATER, all, all - part));
        long nanos = System.nanoTime() - since - part;
        return nanos > 0 ? nanos : 1;
    }

    int pending() {
        return pending;
    }

    /** Changes the pending count and returns the new value. */
    int pend(int by) {
        int was;
        do {
            was = pending;
        } while (!U.compareAndSetInt(this, PENDING, was, was + by));
        return was + by;
    }
}
