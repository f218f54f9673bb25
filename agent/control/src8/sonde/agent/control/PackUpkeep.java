package sonde.agent.control;

import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.util.function.Consumer;

/** Maintains the arena of a pack while the pack is active, and removes the pack on request. */
final class PackUpkeep implements Runnable {
    private static final long SOON_MILLIS = 20;
    private static final long LATER_MILLIS = 500;
    private static final long SWEEP_NANOS = 2000000000L;
    /** The time after which allocation is tried again if the disk was full. */
    private static final long FULL_NANOS = 10000000000L;
    /** The number of calls after which HotSpot compiles, with a margin because it does not check at each call. */
    private static final int SUMMONS = 400;
    private static final int FEW = 16;
    /** The minimum speedup of compiled calls. */
    private static final int FASTER = 4;
    /** How often hooks are rehearsed, by two calls each: until all branches were taken, and then are compiled. */
    private static final int FIRST = 320;
    private static final int SECOND = 2400;
    private static final long REHEARSAL_MILLIS = 10;
    private static final long REHEARSAL_NANOS = 200000000L;

    private final Instrumentation instrumentation;
    private final PackWeaving weaving;
    private final Arena arena;
    private final PackArena file;
    private final PackAccount account;
    private final Tenure tenure;
    private final Consumer<String> notice;
    private long swept = System.nanoTime();
    private long looked = swept;
    /** Created by its thread, because the program waits for the thread that creates this object. */
    private PackExit exit;
    private long full;

    PackUpkeep(Instrumentation instrumentation, PackWeaving weaving, Arena arena, PackArena file, PackAccount account,
            Tenure tenure, Consumer<String> notice) {
        this.instrumentation = instrumentation;
        this.weaving = weaving;
        this.arena = arena;
        this.file = file;
        this.account = account;
        this.tenure = tenure;
        this.notice = notice;
    }

    @Override
    public void run() {
        Hooks hooks = arena.hooks();
        long pause = SOON_MILLIS;
        try {
            hooks.mute();
            exit = new PackExit(account, file);
            exit.register();
            notice.accept(file.path());
            rehearse(hooks);
        } catch (Throwable contained) {
            // It is tried again; an empty arena stays.
        }
        String problem = null;
        while (problem == null) {
            try {
                Thread.sleep(pause);
                if (hooks.isStopAsked()) {
                    break;
                }
                problem = look();
                pause = tend(hooks) ? SOON_MILLIS : Math.min(LATER_MILLIS, 2 * pause);
            } catch (Throwable contained) {
                pause = LATER_MILLIS; // An interrupt, or out of memory: the next attempt may succeed.
            }
        }
        end(problem);
    }

    /** Makes the JVM compile the hooks, waits for that for a while, and rehearses them: less often if they are still interpreted. */
    private void rehearse(Hooks hooks) throws InterruptedException {
        long deadline = System.nanoTime() + REHEARSAL_NANOS;
        long first = hooks.summon(SUMMONS);
        if (first < 0) {
            return; // each spot has a context or a condition
        }
        long slow = first / (SUMMONS / FEW);
        boolean isCompiled = false;
        while (!isCompiled && System.nanoTime() - deadline < 0) {
            Thread.sleep(REHEARSAL_MILLIS);
            isCompiled = hooks.summon(FEW) < slow / FASTER;
        }
        hooks.rehearse(FIRST, System.nanoTime() + REHEARSAL_NANOS);
        if (isCompiled) {
            Thread.sleep(REHEARSAL_MILLIS);
            hooks.rehearse(SECOND, System.nanoTime() + REHEARSAL_NANOS);
        }
    }

    /** Checks from time to time that other processes can find the arena; returns the reason if they cannot. */
    private String look() throws IOException {
        long now = System.nanoTime();
        if (now - looked <= SWEEP_NANOS) {
            return null;
        }
        looked = now;
        if (file.isRemoved()) {
            return "the arena " + file.path() + " was removed while the program was running; restart the program to measure again";
        }
        notice.accept(file.path());
        return null;
    }

    /** Returns true if there is more to do soon: a starting program uses much room in a short time. */
    private boolean tend(Hooks hooks) {
        hooks.relieve();
        long now = System.nanoTime();
        if (now - swept > SWEEP_NANOS) {
            swept = now;
            hooks.sweep();
        }
        if (full != 0 && now - full < FULL_NANOS) {
            return false;
        }
        try {
            full = 0;
            return file.grow(hooks);
        } catch (Exception noRoom) {
            full = now | 1;
            return false;
        }
    }

    /** The arena's file stays, because it contains the measurements. */
    private void end(String problem) {
        String left = problem;
        try {
            exit.withdraw();
        } catch (Throwable contained) {
            // The JVM is exiting, or it was never registered.
        }
        try {
            Restoration restoration = new Restoration(instrumentation, weaving, arena);
            restoration.run();
            if (!restoration.unmapped) {
                left = restoration.remarks.get(restoration.remarks.size() - 1);
            }
        } catch (Throwable t) {
            left = Refusal.reason(t);
        }
        file.close();
        tenure.release();
        notice.accept(left == null ? null : "\n" + left);
    }
}
