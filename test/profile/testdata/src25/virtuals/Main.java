package virtuals;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.LongAdder;
import ledger.Fixture;
import ledger.Ledger;

/** A root on virtual threads that leave their carriers inside hooked methods; the same methods outside of it too. */
public final class Main extends Fixture {
    private static final int THREADS = 100;

    @Override
    public long round() {
        LongAdder sum = new LongAdder();
        try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < THREADS; i++) {
                int n = i;
                executor.execute(() -> sum.add(n % 4 == 0 ? yielding(n) : root(n)));
            }
        }
        return sum.sum();
    }

    static long root(int n) {
        Ledger.Call call = Ledger.root("virtuals/Main.root(I)J");
        long sum = yielding(n) + leaf(n);
        try {
            sum += throwing(n);
        } catch (IllegalStateException e) {
            sum++;
        }
        return Ledger.out(call, sum);
    }

    private static long yielding(int n) {
        Ledger.Call call = Ledger.in("virtuals/Main.yielding(I)J");
        Thread.yield();
        long sum = leaf(n);
        Thread.yield();
        return Ledger.out(call, sum);
    }

    private static long throwing(int n) {
        Ledger.Call call = Ledger.in("virtuals/Main.throwing(I)J");
        Thread.yield();
        if (n % 5 == 0) {
            throw Ledger.threw(call, new IllegalStateException("fifth"));
        }
        return Ledger.out(call, n);
    }

    private static long leaf(int n) {
        Ledger.count("virtuals/Main.leaf(I)J");
        return n * 3L;
    }
}
