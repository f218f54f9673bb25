package java.lang;

import static java.lang.SondeHooks.TID;
import static java.lang.SondeHooks.U;

import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * Called by workers of thread pools. A worker has the context of a task from when it gets the task until it asks for
 * the next one. Tasks that carry their context themselves are not handled here.
 */
public final class SondeHooksPool {
    private static final String COMPLETION = "java.util.concurrent.CompletableFuture$UniCompletion";
    private static final String SCHEDULED = "java.util.concurrent.ScheduledThreadPoolExecutor$ScheduledFutureTask";

    /** The offset of a worker's first task; negative if this JDK has no such field. */
    private static long firstTask = -1;
    /** The offset of the field that a completion of a CompletableFuture clears when it fires. */
    private static long dep = -1;
    private static Class<?> completion;
    /** The offset of the time at which a scheduled task is due, by System.nanoTime. */
    private static long due = -1;
    private static Class<?> scheduled;

    private SondeHooksPool() {
    }

    /** Lets the agent initialise the class, so that no hook does. */
    static void prepare() {
    }

    /** Lets the agent find and use everything that hooks need, so that no hook is the first. */
    static void begin() {
        firstTask = SondeHooksMembers.offset("java.util.concurrent.ThreadPoolExecutor$Worker", "firstTask");
        dep = SondeHooksMembers.offset(COMPLETION, "dep");
        completion = find(COMPLETION);
        due = SondeHooksMembers.offset(SCHEDULED, "time");
        scheduled = find(SCHEDULED);
        Object task = new Object();
        if (!SondeHooksHandOff.carriesItself(task)) {
            isDone(task);
            waited(task, null, isCompletion(task));
        }
    }

    /** Null if this JDK has no such class. */
    private static Class<?> find(String name) {
        try {
            return Class.forName(name, false, null);
        } catch (ClassNotFoundException | LinkageError none) {
            return null;
        }
    }

    static boolean isCompletion(Object task) {
        return completion != null && completion.isInstance(task);
    }

    /** How many nanoseconds a task that begins has waited for a thread, of a scheduled one since it was due; 0 if unknown. */
    static long waited(Object task, SondeHooksCarried entry, boolean stays) {
        if (due >= 0 && scheduled != null && scheduled.isInstance(task)) {
            long nanos = System.nanoTime() - U.getLong(task, due);
            return nanos > 0 ? nanos : 1;
        }
        long nanos = entry == null ? 0 : entry.waited(stays ? 0 : entry.pending());
        if (stays && nanos != 0) {
            entry.submitted(0); // it may begin again, without being submitted
        }
        return nanos;
    }

    /** Whether a completion has fired, or is of a kind for which this is unknown. */
    static boolean isDone(Object task) {
        return completion == null || dep < 0 || !completion.isInstance(task) || SondeHooksMembers.reference(task, dep) == null;
    }

    /** A worker starts, perhaps with a task. */
    @ForceInline
    public static void work(Object worker) {
        SondeHooksTasks all = SondeHooksHandOff.tasks();
        if (all != null && worker != null) {
            SondeHooksHandOff.disown(all);
            if (firstTask >= 0) {
                take(SondeHooksMembers.reference(worker, firstTask));
            }
        }
    }

    /** A worker has got a task. */
    @ForceInline
    public static void take(Object task) {
        SondeHooksTasks all = SondeHooksHandOff.tasks();
        if (all != null && all.isUsed() && !SondeHooksHandOff.carriesItself(task)) {
            begin(task);
        }
    }

    /** A worker has finished a task. */
    @ForceInline
    public static void idle() {
        if (SondeHooksHandOff.tasks() != null) {
            rest();
        }
    }

    /** A submitted task is rejected: it will not run. */
    @ForceInline
    public static void withdraw(Object task) {
        SondeHooksTasks all = SondeHooksHandOff.tasks();
        if (all != null && all.isUsed() && !SondeHooksHandOff.carriesItself(task)) {
            refuse(all, task);
        }
    }

    @DontInline
    private static void begin(Object task) {
        SondeHooksAside was = (SondeHooksAside) SondeHooksHandOff.resume(task);
        SondeHooksState state = was == null ? null : SondeHooksPlaces.state(was.table, was.place);
        if (state != null) {
            state.pooled = was;
        }
    }

    @DontInline
    private static void rest() {
        long tid = U.getLong(Thread.currentThread(), TID);
        int index = SondeHooksPlaces.find(tid);
        long[] places = SondeHooksPlaces.table(index);
        long place = SondeHooksPlaces.offset(index);
        if (index < 0 || places == null || U.getLong(places, place) != tid) {
            return;
        }
        SondeHooksState state = SondeHooksPlaces.state(places, place);
        SondeHooksAside was = state == null ? null : state.pooled;
        if (was != null) {
            state.pooled = null;
            SondeHooksHandOff.suspend(was);
        }
    }

    @DontInline
    private static void refuse(SondeHooksTasks all, Object task) {
        try {
            all.take(task);
        } catch (Exception | LinkageError | VirtualMachineError contained) {
            // It goes with the task.
        }
    }
}
