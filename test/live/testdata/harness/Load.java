package harness;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/** Runs rounds, once or in the background, and compares what comes of each. */
final class Load {
    private final Map<String, Workload> workloads;
    private final Map<String, LongAdder> rounds = new ConcurrentHashMap<>();
    private final Map<String, Long> results = new ConcurrentHashMap<>();
    private final AtomicReference<String> wrong = new AtomicReference<>();
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean stopping;

    Load(Map<String, Workload> workloads) {
        this.workloads = workloads;
        workloads.keySet().forEach(name -> rounds.put(name, new LongAdder()));
    }

    /** Runs one round of each workload and returns a sum over all results. */
    long round() throws Exception {
        long sum = 0;
        for (Map.Entry<String, Workload> workload : workloads.entrySet()) {
            String name = workload.getKey();
            long result = workload.getValue().round();
            rounds.get(name).increment();
            Long first = results.putIfAbsent(name, result);
            if (first != null && first != result) {
                wrong.compareAndSet(null, name + " gave " + Long.toHexString(result) + " after " + Long.toHexString(first));
            }
            sum = sum * 31 + result;
        }
        return sum;
    }

    /** Starts threads that work all the time, or that rest between rounds three times as long as a round took. */
    void start(int count, boolean resting) {
        stopping = false;
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(() -> untilStopped(resting), "load-" + i);
            threads.add(thread);
            thread.start();
        }
    }

    void stop() throws InterruptedException {
        stopping = true;
        for (Thread thread : threads) {
            thread.join();
        }
        threads.clear();
    }

    /** What went wrong first, or null. */
    String wrong() {
        return wrong.get();
    }

    Map<String, Long> rounds() {
        Map<String, Long> sums = new ConcurrentHashMap<>();
        rounds.forEach((name, count) -> sums.put(name, count.sum()));
        return sums;
    }

    private void untilStopped(boolean resting) {
        try {
            while (!stopping) {
                long began = System.nanoTime();
                round();
                if (resting) {
                    LockSupport.parkNanos(3 * (System.nanoTime() - began));
                }
            }
        } catch (Throwable t) {
            wrong.compareAndSet(null, Thread.currentThread().getName() + " ended by " + t);
        }
    }
}
