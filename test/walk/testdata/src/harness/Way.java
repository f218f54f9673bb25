package harness;

import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/**
 * A part of a turn that leads to hot methods. It knows how often it was gone, over all threads, and what processor
 * time that takes: the median, for a thread may be compiling, or stand still, anywhere. In a program that looks it
 * knows by which stacks its calls of the hot methods came: all calls of a way cost the same, so they tell how its
 * time is divided.
 *
 * <p>The hot methods' loops end by chance, some thousand steps from their beginning. Code of a loop whose length is
 * known asks for no safepoint, so nothing says whose it is: the flight recorder takes it for another method's. That
 * is also why a program that works must not look.
 */
public final class Way {
    /** The program takes one turn, and tells where its ways lead. */
    static final boolean LOOKING = Boolean.getBoolean("walk.look");

    /** Virtual threads have no processor time of their own: then it is the clock's. */
    private static final boolean CLOCK = Boolean.getBoolean("walk.clock");

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final StackWalker WALKER = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
    private static final List<Way> ALL = new ArrayList<>();

    private static Way current; // where a program that looks is, on its only thread

    private final String leaf;
    private final AtomicLongArray lately = new AtomicLongArray(4096); // nanoseconds
    private final AtomicLong turns = new AtomicLong();
    private final Map<String, Integer> stacks = new LinkedHashMap<>();

    private Way(String leaf) {
        this.leaf = leaf;
        ALL.add(this);
    }

    /** Leads to methods of the program, which say themselves that they were reached. */
    public static Way toOwn() {
        return new Way("");
    }

    /** Leads to methods of these classes, comma-separated, that cannot say so; their callers do. */
    public static Way to(String classes) {
        return new Way(classes);
    }

    public long begin() {
        if (LOOKING) {
            current = this;
        }
        return now();
    }

    private static long now() {
        return CLOCK ? System.nanoTime() : THREADS.getCurrentThreadCpuTime();
    }

    public void end(long began) {
        long took = now() - began;
        lately.set((int) (turns.getAndIncrement() % lately.length()), took);
    }

    /** Says that a hot method was reached: it is the caller, or what the caller is about to call. */
    public static void here() {
        if (LOOKING) {
            current.see();
        }
    }

    private void see() {
        String stack = WALKER.walk(frames -> frames
                .filter(frame -> frame.getDeclaringClass() != Way.class)
                .map(frame -> frame.getClassName().replace('.', '/') + "." + frame.getMethodName() + frame.getDescriptor())
                .collect(Collectors.joining(" ")));
        stacks.merge(stack, 1, Integer::sum);
    }

    static void forget() {
        for (Way way : ALL) {
            way.turns.set(0);
        }
    }

    /** Prints "stack WAY CALLS LEAF|FRAMES" for each stack of each way. */
    static void tellStacks(PrintStream out) {
        for (int i = 0; i < ALL.size(); i++) {
            int number = i;
            Way way = ALL.get(i);
            way.stacks.forEach((stack, calls) -> out.println("stack " + number + " " + calls + " " + way.leaf + "|" + stack));
        }
    }

    /** Prints "way WAY TURNS NANOS" for each way, with the time of a turn. */
    static void tellTimes(PrintStream out) {
        for (int i = 0; i < ALL.size(); i++) {
            Way way = ALL.get(i);
            long turns = way.turns.get();
            out.println("way " + i + " " + turns + " " + way.median(Math.min(turns, way.lately.length())));
        }
    }

    private long median(long count) {
        return LongStream.range(0, count).map(i -> lately.get((int) i)).sorted().skip(count / 2).findFirst().orElse(0);
    }
}
