package support;

import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.DataOutputStream;
import java.io.FileOutputStream;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** Reads what to do from standard input: "work SEED THREADS CALLS FILE" runs the program and writes what it did. */
public final class Work {
    static final int NUMBERS = 64;
    private static final AtomicInteger NEXT_NUMBER = new AtomicInteger();

    private Work() {
    }

    /** The first of a run of numbers that nobody else has. */
    static int numbers() {
        return NEXT_NUMBER.getAndAdd(NUMBERS);
    }

    /** Serves until the input ends; root makes one call from outside of everything. */
    public static void serve(Consumer<Log> root) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(new BufferedInputStream(System.in)));
        Log.takeAll();
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            run(root, Long.parseLong(words[1]), Integer.parseInt(words[2]), Integer.parseInt(words[3]));
            System.out.println("worked " + write(words[4]));
        }
        Pools.end();
    }

    private static void run(Consumer<Log> root, long seed, int threads, int calls) throws InterruptedException {
        Throwable[] failed = new Throwable[1];
        Thread[] all = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            Strand strand = new Strand(seed * 31 + i, calls / threads, 0);
            all[i] = new Thread(() -> {
                try {
                    work(root, strand);
                } catch (Throwable t) {
                    failed[0] = t;
                }
            });
            all[i].start();
        }
        for (Thread thread : all) {
            thread.join();
        }
        while (Pools.fulfil()) {
            // What was promised and nobody came to do is done outside of everything.
        }
        Task.awaitAll();
        if (failed[0] != null) {
            throw new IllegalStateException(failed[0]);
        }
    }

    private static void work(Consumer<Log> root, Strand strand) {
        Log log = Log.mine();
        log.take(strand);
        while (log.isAtWork()) {
            int at = log.depth();
            try {
                root.accept(log);
            } catch (Boom b) {
                log.unwind(at);
            }
        }
    }

    /** Writes each thread's words behind their number, and says how many calls they tell of. */
    private static long write(String file) throws IOException {
        List<int[]> all = Log.takeAll();
        long words = 0;
        try (DataOutputStream out = new DataOutputStream(new BufferedOutputStream(new FileOutputStream(file), 1 << 16))) {
            out.writeInt(all.size());
            for (int[] log : all) {
                out.writeInt(log.length);
                for (int word : log) {
                    out.writeInt(word);
                }
                words += log.length;
            }
        }
        return words;
    }
}
