package sonde.agent.control;

import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.util.function.Consumer;

/** Looks after the arena of a pack as long as it is in, and takes it out when someone wants that. */
final class PackUpkeep implements Runnable {
    private static final long SOON_MILLIS = 20;
    private static final long LATER_MILLIS = 500;
    private static final long SWEEP_NANOS = 2000000000L;
    /** A disk that was full is asked again after this time. */
    private static final long FULL_NANOS = 10000000000L;
    /** How many calls HotSpot wants to see before it compiles, and more, as it does not look at each. */
    private static final int SUMMONS = 400;
    private static final int FEW = 16;
    /** How much faster calls are at least when they are compiled. */
    private static final int FASTER = 4;
    /** How often hooks are rehearsed, by two calls each: for all to be seen, and then to be compiled for good. */
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
    /** Made by its thread, as the program waits for the one that makes this. */
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
            // The next look tells; an arena in which nothing is stays.
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
                pause = LATER_MILLIS; // An interrupt, or a lack of memory: the next look may be better.
            }
        }
        end(problem);
    }

    /** Has hooks compiled, waits for that a while, and has what they do be seen: less if they are still interpreted, and slow. */
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

    /** Sees to it, now and then, that others find the arena; says why where none can any more. */
    private String look() throws IOException {
        long now = System.nanoTime();
        if (now - looked <= SWEEP_NANOS) {
            return null;
        }
        looked = now;
        if (file.isRemoved()) {
            return file.path() + ", which its measurements went to, was removed: start the program again to measure";
        }
        notice.accept(file.path());
        return null;
    }

    /** True where there is more to be done soon: a program that begins uses much at once. */
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

    /** The arena's file stays: what was measured is in it. */
    private void end(String problem) {
        String left = problem;
        try {
            exit.withdraw();
        } catch (Throwable contained) {
            // The JVM is about to end, or it was never registered.
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
