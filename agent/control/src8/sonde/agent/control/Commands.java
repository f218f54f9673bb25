package sonde.agent.control;

import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.List;

/** Carries out the commands of Sonde in order, on the work thread. */
final class Commands {
    private static final long SWEEP_NANOS = 2000000000L;
    private static final int CALIBRATIONS = 9;
    private static final long CALIBRATE_NANOS = 500000000L;
    private static final int MOST_ROUNDS = 1000000;
    private static final int MOST_BODY = 3;
    /** The number of attempts to restore everything, and the pause between them: a lack of memory may be temporary. */
    private static final int RESTORE_TRIES = 5;
    private static final long RESTORE_MILLIS = 200;

    private final Instrumentation instrumentation;
    private final Classes classes;
    private final Weaving weaving;
    private final HookClasses hookClasses;
    private final Arena arena;
    private final Aside aside;
    private final Outgoing outgoing;
    private final Lease lease;
    private final Tenure tenure;
    private long swept;

    Commands(Instrumentation instrumentation, Classes classes, Weaving weaving, HookClasses hookClasses, Arena arena,
            Aside aside, Outgoing outgoing, Lease lease, Tenure tenure) {
        this.instrumentation = instrumentation;
        this.classes = classes;
        this.weaving = weaving;
        this.hookClasses = hookClasses;
        this.arena = arena;
        this.aside = aside;
        this.outgoing = outgoing;
        this.lease = lease;
        this.tenure = tenure;
    }

    /** Returns true if the session has ended normally. An invalid command throws, which also ends it. */
    boolean execute(Received command) throws BadFrame {
        try {
            return dispatch(command);
        } catch (BadFrame bad) {
            throw bad;
        } catch (Throwable t) {
            outgoing.add(Frame.text(Kind.FAILED, command.request, Refusal.reason(t))); // the reader must not wait
            return false;
        }
    }

    private boolean dispatch(Received command) throws Exception {
        switch (command.kind) {
            case Kind.MAP:
                map(command);
                break;
            case Kind.LIST:
                command.end();
                classes.list(command.request, outgoing, lease);
                break;
            case Kind.FETCH:
                fetch(command);
                break;
            case Kind.SEES:
                sees(command);
                break;
            case Kind.INSTALL:
                install(command);
                break;
            case Kind.PROBES:
                probes(command);
                break;
            case Kind.SWITCH:
                change(command);
                break;
            case Kind.WATCH:
                watch(command);
                break;
            case Kind.WATCHES:
                watches(command);
                break;
            case Kind.RESTORE:
                send(restore(command));
                break;
            case Kind.BYE:
                Frame last = restore(command);
                tenure.release(); // before the reply: the next Sonde must not be refused
                send(last);
                return true;
            case Kind.THREADS:
                threads(command);
                break;
            case Kind.CALIBRATE:
                calibrate(command);
                break;
            case Kind.FOLLOW:
                follow(command);
                break;
            default:
                throw new BadFrame("its kind is unknown");
        }
        return false;
    }

    private void map(Received command) throws Exception {
        String path = command.string();
        long length = command.u64();
        int epoch = command.u32();
        command.end();
        if (arena.hooks() != null) {
            throw new Refusal("an arena is mapped already");
        }
        hookClasses.need();
        arena.set(open(path, length, epoch));
        done(command);
    }

    private Hooks open(String path, long length, int epoch) throws Exception {
        Thread[] live = live();
        try {
            return Hooks.map(path, length, epoch, live);
        } catch (IllegalStateException left) {
            Hooks.offLeft();
            instrumentation.retransformClasses(Kind.class); // a class of the agent, for the safepoint
            if (!Hooks.retireLeft()) {
                throw left;
            }
            return Hooks.map(path, length, epoch, live);
        }
    }

    /** None if the program prevents listing them: then some threads of the agent are measured, too. */
    private Thread[] live() {
        try {
            return aside.run(new LiveThreads());
        } catch (Throwable unknown) {
            return new Thread[0];
        }
    }

    private void fetch(Received command) throws BadFrame {
        int[] handles = command.numbers();
        command.end();
        LoaderQuestions questions = new LoaderQuestions(classes, aside);
        for (int i = 0; i < handles.length && !lease.over(); i++) {
            questions.fetch(command.request, handles[i], outgoing, lease);
        }
        done(command);
    }

    private void sees(Received command) throws Exception {
        int[] handles = command.numbers();
        command.end();
        Class<?> hooks = hookClasses.need();
        LoaderQuestions questions = new LoaderQuestions(classes, aside);
        Frame seen = new Frame(Kind.SEEN, command.request).u32(handles.length);
        for (int handle : handles) {
            seen.u32(handle).string(questions.sees(handle, hooks));
        }
        send(seen);
    }

    private void install(Received command) throws Exception {
        int[] handles = command.numbers();
        command.end();
        arena.need();
        List<Integer> gone = new ArrayList<Integer>();
        List<Class<?>> found = classes.resolve(handles, gone);
        weaving.woven.forget();
        for (Class<?> wanted : found) {
            weaving.woven.want(wanted);
        }
        weaving.register(instrumentation);
        String error = "";
        long start = System.nanoTime();
        try {
            if (!found.isEmpty()) {
                instrumentation.retransformClasses(found.toArray(new Class<?>[0]));
                weaving.woven.taken(found);
            }
        } catch (Throwable t) {
            error = Refusal.reason(t);
        }
        Frame installed = new Frame(Kind.INSTALLED, command.request).u64(System.nanoTime() - start).u32(gone.size());
        for (Integer handle : gone) {
            installed.u32(handle);
        }
        send(installed.string(error));
    }

    private void probes(Received command) throws Exception {
        long[] table = new long[command.count(8)];
        boolean ends = table.length == 0;
        for (int i = 0; i < table.length; i++) {
            table[i] = command.u64();
            ends |= table[i] == 0;
        }
        command.end();
        if ((table.length & table.length - 1) != 0) {
            throw new Refusal("the size of the table of probes is not a power of two");
        }
        if (!ends) { // an empty entry ends the search of hooks
            throw new Refusal("the table of probes has no empty entry");
        }
        arena.need().probes(table.length == 0 ? null : table);
        done(command);
    }

    private void change(Received command) throws Exception {
        long[] entries = new long[command.count(8)];
        for (int i = 0; i < entries.length; i++) {
            entries[i] = command.u64();
            if (entries[i] == 0) {
                throw new BadFrame("it has an empty entry");
            }
        }
        command.end();
        if (!arena.need().change(entries)) {
            throw new Refusal("there is no table of probes, or no room in it");
        }
        done(command);
    }

    private void watches(Received command) throws Exception {
        Spots spots = Spots.read(command);
        command.end();
        spots.set(arena.need());
        done(command);
    }

    private void watch(Received command) throws Exception {
        Watch wanted = Watch.read(command);
        command.end();
        arena.need();
        weaving.register(instrumentation);
        weaving.watch(wanted);
        done(command);
    }

    private void follow(Received command) throws Exception {
        int on = command.u8();
        command.end();
        if (on > 1) {
            throw new BadFrame("a flag is neither 0 nor 1");
        }
        arena.need().follow(on == 1);
        done(command);
    }

    private Frame restore(final Received command) throws BadFrame {
        command.end();
        Restoration restoration = new Restoration(instrumentation, weaving, arena) {
            @Override void progress(int done, int all) {
                outgoing.offer(new Frame(Kind.RESTORING, command.request).u32(done).u32(all));
            }
        };
        restoration.run();
        Frame restored = new Frame(Kind.RESTORED, command.request).u64(restoration.nanos).u32(restoration.restored)
                .u8(restoration.unmapped ? 1 : 0).u32(restoration.remarks.size());
        for (String remark : restoration.remarks) {
            restored.string(remark);
        }
        return restored;
    }

    /** Restores everything, unless it was done, without a report. */
    void restoreAlone() {
        Hooks hooks = arena.hooks();
        if (hooks == null && !weaving.isRegistered()) {
            return;
        }
        try {
            for (int tries = 1; !isRestored() && tries < RESTORE_TRIES; tries++) {
                pause();
            }
        } finally {
            letGo(hooks);
        }
    }

    private boolean isRestored() {
        try {
            new Restoration(instrumentation, weaving, arena).run();
            return true;
        } catch (Throwable contained) {
            return false;
        }
    }

    /** Allocates nothing, because it is used when allocation fails. */
    private static void pause() {
        try {
            Thread.sleep(RESTORE_MILLIS);
        } catch (Throwable contained) {
            // The next attempt comes earlier.
        }
    }

    /** Classes that are not restored by now keep disabled hooks. */
    private void letGo(Hooks hooks) {
        try {
            if (hooks != null) {
                hooks.deleteFile();
            }
        } catch (Throwable contained) {
            // Sonde deletes it if it returns.
        } finally {
            try {
                weaving.unregister(instrumentation);
            } catch (Throwable contained) {
                // It weaves no class any more, because restoration has begun.
            }
        }
    }

    private void threads(Received command) throws Exception {
        command.end();
        Hooks hooks = arena.need();
        Thread[] live = aside.run(new LiveThreads());
        Frame named = new Frame(Kind.NAMED, command.request).u32(live.length);
        for (Thread thread : live) {
            named.u64(hooks.tid(thread)).string(thread.getName());
        }
        send(named);
    }

    private void calibrate(Received command) throws Exception {
        int rounds = command.u32();
        int setting = command.u32();
        int body = command.u8();
        int steps = command.u32();
        command.end();
        if (rounds < 0 || rounds > MOST_ROUNDS || steps < 0 || steps > MOST_ROUNDS || body > MOST_BODY) {
            throw new Refusal("that is more than " + MOST_ROUNDS + " rounds or steps, or a body of an unknown kind");
        }
        Hooks hooks = arena.need();
        Frame nanos = new Frame(Kind.CALIBRATED, command.request);
        int runs = 0;
        long deadline = System.nanoTime() + CALIBRATE_NANOS;
        long[] run = new long[4];
        while (runs < CALIBRATIONS && hooks.calibrate(rounds, setting, body, steps, deadline, run)) {
            nanos.u64(run[0]).u64(run[1]).u64(run[2]).u64(run[3]);
            runs++;
        }
        send(new Frame(Kind.CALIBRATED, command.request).counted(runs, nanos));
    }

    /** Maintains the arena between commands; returns true if the removal of the hooks was requested. */
    boolean tend() {
        Hooks hooks = arena.hooks();
        if (hooks == null) {
            return false;
        }
        if (hooks.isStopAsked()) {
            new Restoration(instrumentation, weaving, arena).run();
            tenure.release();
            send(Frame.text(Kind.NOTICE, 0, "the hooks were removed on request (sonde undo)"));
            return true;
        }
        hooks.relieve();
        if (System.nanoTime() - swept > SWEEP_NANOS) {
            swept = System.nanoTime();
            hooks.sweep();
        }
        return false;
    }

    void end() {
        aside.end();
    }

    /** Never waits, because the reader uses it, too. */
    private void done(Received command) {
        outgoing.add(new Frame(Kind.DONE, command.request));
    }

    private void send(Frame reply) {
        outgoing.put(reply, lease);
    }
}
