package java.lang;

import static java.lang.SondeHooks.TID;
import static java.lang.SondeHooks.U;
import static java.lang.SondeHooksPath.OF_VIRTUAL;
import static java.lang.SondeHooksPath.POSITIONS;
import static java.lang.SondeHooksPath.PREFIXES;
import static java.lang.SondeHooksPlaces.CONTEXT;
import static java.lang.SondeHooksPlaces.FIRST_BITS;
import static java.lang.SondeHooksPlaces.MUTED;
import static java.lang.SondeHooksPlaces.MUTE_ONE;
import static java.lang.SondeHooksPlaces.PATH;
import static java.lang.SondeHooksPlaces.WORD;
import static sonde.layout.Layout.PATH_POSITIONS;

import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.concurrent.FutureTask;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * Called by methods of the JDK that pass work from one thread to another. A task, which is any object that represents
 * one piece of work, carries the context of the thread that created it: the prefixes of sequences on the stack, the
 * tags and the transaction. The thread that runs the task has this context while it does.
 *
 * <p>If no thread has a context, this costs a few loads. All other work is muted and never waits.
 */
public final class SondeHooksHandOff {
    /** Null while no spot is on. */
    private static volatile SondeHooksTasks tasks;

    private SondeHooksHandOff() {
    }

    /** Lets the agent initialise the class, so that no hook does. */
    static void prepare() {
    }

    /** Enables the hand-off, unless it is enabled; the agent uses every needed class once. */
    static void begin() {
        if (tasks == null) {
            SondeHooksTasks rehearsed = new SondeHooksTasks();
            Object task = new Object();
            rehearsed.addShared(new SondeHooksCarried(task, 0, null, 0, 0), task, false, 0);
            rehearsed.addShared(new SondeHooksCarried(task, 0, null, 0, 0), task, false, 0);
            rehearsed.take(task).waited(0);
            new SondeHooksCarried(task, 0, null, 0, 0).isFork();
            rehearsed.take(task);
            rehearsed.add(new SondeHooksCarried(Thread.currentThread(), 0, null, 0, 0));
            rehearsed.mayHave(Thread.currentThread());
            isOfProgram(Thread.currentThread());
            rehearsed.sweep();
            SondeHooksPool.begin();
            SondeHooksTag tags = new SondeHooksState(null).tags.with(0, "").with(0, null);
            new SondeHooksAside(null, 0, 0, 0, tags, null, false);
            tasks = new SondeHooksTasks();
        }
    }

    /** Sets whether the times of submissions are recorded, and whether tasks carry no contexts. */
    static void set(boolean timed, boolean bare) {
        SondeHooksTasks all = tasks;
        if (all != null) { // else this is a pack
            all.set(timed, bare);
        }
    }

    static void end() {
        tasks = null;
    }

    /** Forgets tasks that were collected. */
    static void sweep() {
        SondeHooksTasks all = tasks;
        if (all != null) {
            all.sweep();
        }
    }

    static SondeHooksTasks tasks() {
        return tasks;
    }

    /** Records the context of a new task, which is submitted once. */
    @ForceInline
    public static void carry(Object task) {
        SondeHooksTasks all = tasks;
        if (all != null && (all.isTimed || mayHaveContext())) {
            hand(all, task, false);
        }
    }

    /** Records the context of a task that may be submitted several times. */
    @ForceInline
    public static void submit(Object task) {
        SondeHooksTasks all = tasks;
        if (all != null && (all.isUsed() || mayHaveContext())) {
            if (!carriesItself(task)) {
                hand(all, task, true);
            } else if (all.isTimed) {
                enqueue(all, task);
            }
        }
    }

    /** Records the context in which a thread is started; it has that context until it ends. */
    @ForceInline
    public static void start(Object thread) {
        SondeHooksTasks all = tasks;
        if (all != null && mayHaveContext() && isOfProgram(thread)) {
            all.hasThreads = true;
            hand(all, thread, false);
        }
    }

    /** Threads of the JDK, such as timers, and workers of fork-join pools do not work for the one that starts them. */
    private static boolean isOfProgram(Object thread) {
        Class<?> type = thread.getClass();
        return type == Thread.class || type.getClassLoader() != null && !(thread instanceof ForkJoinWorkerThread);
    }

    /** Sets the context of the calling thread to that of a task it begins, until {@link #suspend}. */
    @ForceInline
    public static Object resume(Object task) {
        SondeHooksTasks all = tasks;
        return all != null && (all.isUsed() || mayHaveContext()) ? take(all, task, false) : null;
    }

    /** Is {@link #resume} for a task that may run again. */
    @ForceInline
    public static Object again(Object task) {
        SondeHooksTasks all = tasks;
        return all != null && (all.isUsed() || mayHaveContext()) ? take(all, task, true) : null;
    }

    /** Restores the context of the calling thread. */
    @ForceInline
    public static void suspend(Object was) {
        if (was != null) {
            back((SondeHooksAside) was);
        }
    }

    /** Ends {@link #again} of a completion, which has fired or not. */
    @ForceInline
    public static void fired(Object task, Object was) {
        SondeHooksTasks all = tasks;
        if (all != null && all.isUsed() && SondeHooksPool.isDone(task)) {
            forget(all, task);
        }
        suspend(was);
    }

    /** Tasks with hooks in their constructors and in their run methods. */
    static boolean carriesItself(Object task) {
        return task == null || task instanceof FutureTask || task instanceof ForkJoinTask;
    }

    /** Returns false if the calling thread certainly has no context. */
    @ForceInline
    private static boolean mayHaveContext() {
        long[] places = SondeHooksPlaces.first;
        if (places == null) {
            return false;
        }
        long tid = U.getLong(Thread.currentThread(), TID);
        long place = SondeHooksPlaces.home(tid, FIRST_BITS);
        return U.getLong(places, place) != tid || (U.getLong(places, place + WORD) & CONTEXT) != 0 || hasContext(places, place);
    }

    @ForceInline
    private static boolean hasContext(long[] places, long place) {
        if ((U.getLong(places, place + PATH) & PREFIXES) != 0 || U.getLong(places, place + SondeHooksTrace.TRANSACTION) != 0) {
            return true;
        }
        SondeHooksState state = SondeHooksPlaces.state(places, place);
        return state != null && state.hasTags();
    }

    /** Records the time at which a pool gets a task that carries its context. It was made before. */
    @DontInline
    private static void enqueue(SondeHooksTasks all, Object task) {
        SondeHooksCarried entry = task == null ? null : all.find(task);
        if (entry != null) {
            entry.submitted(System.nanoTime());
        } else if (task != null) {
            handTime(all, task, false, System.nanoTime());
        }
    }

    /** Records the time at which a task is submitted, without a context. */
    private static void handTime(SondeHooksTasks all, Object task, boolean isShared, long now) {
        SondeHooksCarried made = new SondeHooksCarried(task, SondeHooksPath.mark, null, 0, 0);
        made.submitted(now);
        if (isShared ? !all.addShared(made, task, now == 0, now) : !all.add(made)) {
            SondeHooksPath.lose();
        }
    }

    /** Whether a task is submitted at once. Stages of a CompletableFuture are made before they are due, and threads of pools wait for tasks. */
    private static boolean isDue(Object task) {
        return task instanceof Thread ? SondeHooksPlaces.isVirtual((Thread) task) : !SondeHooksPool.isCompletion(task);
    }

    @DontInline
    private static void hand(SondeHooksTasks all, Object task, boolean isShared) {
        long now = all.isTimed && isDue(task) ? System.nanoTime() : 0;
        long tid = U.getLong(Thread.currentThread(), TID);
        int index = all.isBare ? SondeHooksPlaces.find(tid) : find(tid);
        long[] places = SondeHooksPlaces.table(index);
        long place = SondeHooksPlaces.offset(index);
        boolean hasPlace = index >= 0 && places != null && U.getLong(places, place) == tid;
        if (!hasPlace || all.isBare && (U.getLong(places, place + WORD) & MUTED) == 0) {
            if (now != 0 || isShared && all.isUsed()) {
                handTime(all, task, isShared, now);
            }
            return;
        }
        long word = U.getLong(places, place + WORD);
        if ((word & MUTED) != 0) {
            return;
        }
        boolean found = true;
        U.putLong(places, place + WORD, word + MUTE_ONE);
        try {
            SondeHooksState state = SondeHooksPlaces.state(places, place);
            SondeHooksTag tags = state != null && state.hasTags() ? state.tags : null;
            long path = SondeHooksPath.of(places, place, SondeHooksPath.mark) & ~(OF_VIRTUAL | POSITIONS << PATH_POSITIONS);
            long transaction = SondeHooksTrace.transaction(places, place);
            int node = SondeHooksPart.handing(places, place);
            boolean isEmpty = (path & PREFIXES) == 0 && tags == null && transaction == 0 && node == 0 && now == 0;
            SondeHooksCarried made = new SondeHooksCarried(task, path, tags, transaction, node);
            made.submitted(now);
            found = isShared ? all.addShared(made, task, isEmpty, now) : isEmpty || all.add(made);
        } catch (Exception | LinkageError | VirtualMachineError contained) {
            found = false; // it must not make the program fail
        } finally {
            U.putLong(places, place + WORD, U.getLong(places, place + WORD) - MUTE_ONE);
        }
        if (!found) {
            SondeHooksPath.lose();
        }
        SondeHooksPlaces.giveUpIfEmpty(places, place);
    }

    @DontInline
    private static Object take(SondeHooksTasks all, Object task, boolean stays) {
        long tid = U.getLong(Thread.currentThread(), TID);
        int index = find(tid);
        SondeHooksCarried entry = null;
        try {
            entry = stays ? all.find(task) : all.take(task);
        } catch (Exception | LinkageError | VirtualMachineError contained) {
            SondeHooksPath.lose();
        }
        long waited = all.isTimed ? SondeHooksPool.waited(task, entry, stays) : 0;
        boolean isGood = entry != null && entry.isGood() && !all.isBare;
        if (index < 0) {
            if (!isGood && waited == 0) {
                return null;
            }
            index = SondeHooksPlaces.claim(tid);
            if (index < 0) {
                SondeHooksPath.lose();
                return null;
            }
        }
        long[] places = SondeHooksPlaces.table(index);
        long place = SondeHooksPlaces.offset(index);
        if (places == null || U.getLong(places, place) != tid) {
            return null;
        }
        if (all.isTimed) {
            noteWait(places, place, SondeHooksCarried.hash(task), waited);
        }
        if (all.isBare) {
            SondeHooksPlaces.giveUpIfEmpty(places, place);
            return null;
        }
        return install(places, place, task, isGood ? entry : null);
    }

    /** Remembers how long the task has waited that the calling thread begins. Some begin by two methods; the first knows. */
    private static void noteWait(long[] places, long place, int task, long waited) {
        SondeHooksState state = waited == 0 ? SondeHooksPlaces.state(places, place) : SondeHooksPlaces.needState(places, place);
        if (state != null && (waited != 0 || state.waiter != task)) {
            state.waiter = task;
            state.waited = waited;
        }
    }

    /** Adds the time that the task of the calling thread has waited to a spot whose call has begun: the first one in the task. */
    @DontInline
    static void began(int id) {
        long tid = U.getLong(Thread.currentThread(), TID);
        int index = SondeHooksPlaces.claim(tid);
        long[] places = SondeHooksPlaces.table(index);
        long place = SondeHooksPlaces.offset(index);
        if (index < 0 || places == null || U.getLong(places, place) != tid) {
            return;
        }
        SondeHooksState state = SondeHooksPlaces.state(places, place);
        long waited = state == null ? 0 : state.waited;
        if (state != null && waited == 0 && state.own != null) { // the thread itself is the task
            waited = state.own.waited(0);
            state.own.submitted(0);
        }
        if (waited != 0) {
            state.waited = 0;
            SondeHooksRecord.addWait(places, place, id, waited);
        }
        SondeHooksPlaces.giveUpIfEmpty(places, place);
    }

    /** Sets or clears the context of the calling thread; returns the previous one, null if nothing changes. */
    static SondeHooksAside install(long[] places, long place, Object task, SondeHooksCarried entry) {
        long word = U.getLong(places, place + WORD);
        SondeHooksState state = SondeHooksPlaces.state(places, place);
        if ((word & MUTED) != 0 || state != null && state.task == task) {
            return null;
        }
        if (entry == null && !hasContext(places, place)) {
            SondeHooksPlaces.giveUpIfEmpty(places, place);
            return null;
        }
        U.putLong(places, place + WORD, word + MUTE_ONE);
        try {
            state = SondeHooksPlaces.needState(places, place);
            if (state == null) {
                return null;
            }
            long transaction = entry == null ? 0 : entry.transaction;
            boolean joins = transaction != 0 || SondeHooksTrace.transaction(places, place) != 0;
            SondeHooksTag tags = state.hasTags() ? state.tags : null;
            long path = SondeHooksPath.of(places, place, SondeHooksPath.mark);
            SondeHooksAside was = new SondeHooksAside(places, place, word, path, tags, state.task, joins);
            if (entry != null && entry.node != 0) {
                was.part = SondeHooksPart.join(places, place, entry.node);
            }
            if (joins) {
                SondeHooksTrace.join(places, place, transaction);
            }
            SondeHooksPath.set(places, place, entry == null ? SondeHooksPath.mark : entry.path);
            state.under(entry == null ? null : entry.tags);
            state.task = task;
            return was;
        } catch (Exception | LinkageError | VirtualMachineError contained) {
            SondeHooksPath.lose();
            return null;
        } finally {
            U.putLong(places, place + WORD, U.getLong(places, place + WORD) - MUTE_ONE);
        }
    }

    @DontInline
    private static void back(SondeHooksAside was) {
        long[] places = was.table;
        long place = was.place;
        boolean isThere = places == SondeHooksPlaces.first || places == SondeHooksPlaces.second;
        if (!isThere || !SondeHooksPlaces.isOwner(places, place)) {
            return; // of an earlier arena
        }
        SondeHooksState state = SondeHooksPlaces.state(places, place);
        if (state != null) {
            state.under(was.tags);
            state.task = was.task;
        }
        U.putLong(places, place + PATH, was.path);
        if (was.joined) {
            SondeHooksTrace.part(places, place);
        }
        if (was.part != 0) {
            SondeHooksPart.leave(places, place, was.part, was.word);
        }
        SondeHooksPlaces.giveUpIfEmpty(places, place);
    }

    @DontInline
    private static void forget(SondeHooksTasks all, Object task) {
        try {
            SondeHooksCarried entry = all.find(task);
            if (entry != null) {
                all.remove(entry);
            }
        } catch (Exception | LinkageError | VirtualMachineError contained) {
            // The entry is removed with the task.
        }
    }

    /** The place of the calling thread, negative if it has none. A thread that was made in a context has one. */
    static int find(long tid) {
        int index = SondeHooksPlaces.find(tid);
        if (index < 0) {
            SondeHooksTasks all = tasks;
            Thread thread = Thread.currentThread();
            if (all != null && all.mayHave(thread) && all.find(thread) != null) {
                index = SondeHooksPlaces.claim(tid, thread);
            }
        }
        return index;
    }

    /** The tags that the calling thread, which has no place, got with its task; null for none. */
    static SondeHooksTag tagsOf(Thread thread) {
        SondeHooksTasks all = tasks;
        SondeHooksCarried entry = all == null || !all.mayHave(thread) ? null : all.find(thread);
        return entry != null && entry.isGood() ? entry.tags : null;
    }

    /**
     * Sets the context of a thread, which has just got its place, to that of its creation. A virtual thread may give up
     * its place and need the context again.
     */
    static void adopt(long[] places, long place, Thread thread) {
        SondeHooksTasks all = tasks;
        if (all == null || !all.mayHave(thread)) {
            return;
        }
        U.putLong(places, place + WORD, U.getLong(places, place + WORD) + MUTE_ONE);
        try {
            SondeHooksCarried entry = SondeHooksPlaces.isVirtual(thread) ? all.find(thread) : all.take(thread);
            SondeHooksState state = entry == null || !entry.isGood() ? null : SondeHooksPlaces.needState(places, place);
            if (state != null) {
                state.began = entry.node == 0 ? 0 : SondeHooksPart.join(places, place, entry.node);
                if (entry.transaction != 0) {
                    SondeHooksTrace.join(places, place, entry.transaction);
                }
                SondeHooksPath.set(places, place, entry.path);
                state.under(entry.tags);
                state.own = entry;
            }
        } catch (Exception | LinkageError | VirtualMachineError contained) {
            SondeHooksPath.lose();
        } finally {
            U.putLong(places, place + WORD, U.getLong(places, place + WORD) - MUTE_ONE);
        }
    }

    /** Forgets the context in which the calling thread was made: it is a worker, and has those of its tasks. */
    static void disown(SondeHooksTasks all) {
        Thread thread = Thread.currentThread();
        if (!all.hasThreads && !SondeHooksPlaces.isVirtual(thread)) {
            return;
        }
        int index = find(U.getLong(thread, TID));
        long[] places = SondeHooksPlaces.table(index);
        long place = SondeHooksPlaces.offset(index);
        if (index < 0 || places == null || !SondeHooksPlaces.isOwner(places, place)) {
            return;
        }
        SondeHooksState state = SondeHooksPlaces.state(places, place);
        SondeHooksCarried own = state == null ? null : state.own;
        if (own == null) {
            return;
        }
        forget(all, thread);
        state.own = null;
        state.under(null);
        SondeHooksPath.set(places, place, SondeHooksPath.mark);
        if (own.transaction != 0) {
            SondeHooksTrace.part(places, place);
        }
        if (state.began != 0) {
            SondeHooksPart.leave(places, place, state.began, 0);
            state.began = 0;
        }
        SondeHooksPlaces.giveUpIfEmpty(places, place);
    }

    /** Whether the virtual thread that owns a place has only the context of its creation, or none. */
    static boolean isAsBegun(long[] places, long place) {
        long now = SondeHooksPath.mark;
        long path = SondeHooksPath.of(places, place, now) & ~OF_VIRTUAL;
        SondeHooksState state = SondeHooksPlaces.state(places, place);
        if (state == null) {
            return (path & PREFIXES) == 0;
        }
        SondeHooksCarried own = state.own;
        boolean isGood = own != null && own.isGood();
        return state.task == null && state.waited == 0 && path == (isGood ? own.path : now)
                && (state.hasTags() ? state.tags : null) == (own == null ? null : own.tags);
    }
}
