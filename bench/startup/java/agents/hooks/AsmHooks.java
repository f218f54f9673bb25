package startup;

import java.util.concurrent.atomic.AtomicLong;

/** What methods call that ASM has woven: calls, time and exceptions are counted by method, right from any thread. */
public final class AsmHooks {
    private static AtomicLong[] calls;
    private static AtomicLong[] nanos;
    private static AtomicLong[] thrown;

    private AsmHooks() {
    }

    public static void prepare(int methods) {
        calls = counters(methods);
        nanos = counters(methods);
        thrown = counters(methods);
    }

    private static AtomicLong[] counters(int methods) {
        AtomicLong[] counters = new AtomicLong[methods];
        for (int i = 0; i < methods; i++) {
            counters[i] = new AtomicLong();
        }
        return counters;
    }

    public static long enter(int id) {
        calls[id].getAndIncrement();
        return System.nanoTime();
    }

    public static void exit(int id, long began) {
        nanos[id].getAndAdd(System.nanoTime() - began);
    }

    public static void fail(int id, long began) {
        nanos[id].getAndAdd(System.nanoTime() - began);
        thrown[id].getAndIncrement();
    }

    /** How many calls there were. */
    public static long total() {
        long total = 0;
        for (AtomicLong counter : calls) {
            total += counter.get();
        }
        return total;
    }
}
