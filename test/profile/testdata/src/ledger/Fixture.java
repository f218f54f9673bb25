package ledger;

import harness.Workload;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A behaviour under test, known by the name of its package. Its round calls its root once, where it
 * does not say otherwise. To what all programs of tests answer it adds
 *
 * <pre>
 * turn NAME ROUNDS THREADS   done, after so many rounds on each of so many threads at once
 * contexts                   lines "context entered threw path", then "end"
 * forget                     done; the ledger begins anew
 * </pre>
 */
public abstract class Fixture implements Workload {
    private final AtomicReference<Long> first = new AtomicReference<>();

    @Override
    public boolean command(String[] words, PrintStream out) throws Exception {
        switch (words[0]) {
            case "contexts":
                Ledger.print(out);
                return true;
            case "forget":
                Ledger.forget();
                out.println("done");
                return true;
            case "turn":
                if (!words[1].equals(getClass().getPackageName())) {
                    return false;
                }
                turn(Integer.parseInt(words[2]), Integer.parseInt(words[3]));
                out.println("done");
                return true;
            default:
                return false;
        }
    }

    private void turn(int rounds, int count) throws Exception {
        if (count == 1) {
            rounds(rounds);
            return;
        }
        AtomicReference<Throwable> failure = new AtomicReference<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread("turn-" + i) {
                @Override
                public void run() {
                    try {
                        rounds(rounds);
                    } catch (Throwable t) {
                        failure.compareAndSet(null, t);
                    }
                }
            };
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (failure.get() != null) {
            throw new IllegalStateException(failure.get());
        }
    }

    private void rounds(int rounds) throws Exception {
        for (int i = 0; i < rounds; i++) {
            long result = round();
            first.compareAndSet(null, result);
            if (first.get() != result) {
                throw new IllegalStateException("a round gave " + result + " after " + first.get());
            }
        }
    }
}
