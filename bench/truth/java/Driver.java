package truth;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Runs cases on commands from its standard input, and exits when that ends. Each case is there twice, as
 * woven.NAME, which may have hooks, and as bare.NAME, which never has.
 *
 * <pre>
 * alone NAME CALLS BATCHES   →  alone NANOS…   of each batch: each part of woven.NAME
 * turns NAME CALLS BATCHES   →  turns NANOS…   of each batch: the root of woven.NAME, the
 *                                              processor time of that, and each part of bare.NAME
 * load [NAME CALLS]…         →  load           from now on runs the roots of each woven.NAME in turn
 * rest                       →  rest           ends that
 * on NAME                    →  on             from now on a new thread of that name does the work, and stays
 * </pre>
 */
public final class Driver {
    private static final Map<String, Case> CASES = new HashMap<>();
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static volatile boolean loaded;
    private static Thread load;
    private static ExecutorService worker;
    /** All there were: one that nobody holds ends its thread. */
    private static final List<ExecutorService> WORKERS = new ArrayList<>();
    private static long seed = 0x9E3779B97F4A7C15L;

    private Driver() {
    }

    /** Runs until its input ends. */
    public static void main(String[] args) throws IOException, InterruptedException, ExecutionException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            System.out.println(worker == null ? answer(words) : worker.submit(() -> answer(words)).get());
        }
        rest();
        if (seed == 0) {
            throw new AssertionError("a case does no work");
        }
    }

    private static String answer(String[] words) throws InterruptedException {
        switch (words[0]) {
            case "alone":
                return "alone" + alone(find("woven", words[1]), Integer.parseInt(words[2]), Integer.parseInt(words[3]));
            case "turns":
                return "turns" + turns(find("woven", words[1]), find("bare", words[1]),
                        Integer.parseInt(words[2]), Integer.parseInt(words[3]));
            case "load":
                begin(words);
                return "load";
            case "rest":
                rest();
                return "rest";
            case "on":
                worker = Executors.newSingleThreadExecutor(work -> {
                    Thread thread = new Thread(work, words[1]);
                    thread.setDaemon(true);
                    return thread;
                });
                WORKERS.add(worker);
                return "on";
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static Case find(String twin, String name) {
        return CASES.computeIfAbsent(twin + "." + name, full -> {
            try {
                Constructor<?> constructor = Class.forName(full).getDeclaredConstructor();
                constructor.setAccessible(true);
                return (Case) constructor.newInstance();
            } catch (ReflectiveOperationException e) {
                throw new IllegalArgumentException(full, e);
            }
        });
    }

    private static String alone(Case woven, int calls, int batches) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < batches; i++) {
            parts(woven, calls, text);
        }
        return text.toString();
    }

    private static String turns(Case woven, Case bare, int calls, int batches) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < batches; i++) {
            long processor = THREADS.getCurrentThreadCpuTime();
            long start = System.nanoTime();
            seed = woven.root(seed, calls);
            long end = System.nanoTime();
            text.append(' ').append(end - start).append(' ').append(THREADS.getCurrentThreadCpuTime() - processor);
            parts(bare, calls, text);
        }
        return text.toString();
    }

    private static void parts(Case twin, int calls, StringBuilder text) {
        for (int part = 0; part < twin.parts(); part++) {
            long start = System.nanoTime();
            seed = twin.part(part, seed, calls);
            text.append(' ').append(System.nanoTime() - start);
        }
    }

    private static void begin(String[] words) {
        Case[] cases = new Case[words.length / 2];
        int[] calls = new int[cases.length];
        for (int i = 0; i < cases.length; i++) {
            cases[i] = find("woven", words[1 + 2 * i]);
            calls[i] = Integer.parseInt(words[2 + 2 * i]);
        }
        loaded = true;
        load = new Thread(() -> {
            long x = 1;
            for (int i = 0; loaded; i = (i + 1) % cases.length) {
                x = cases[i].root(x, calls[i]);
            }
        }, "load");
        load.setDaemon(true);
        load.start();
    }

    private static void rest() throws InterruptedException {
        loaded = false;
        if (load != null) {
            load.join();
        }
    }
}
