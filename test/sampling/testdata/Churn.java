import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * A program that loads, compiles, deoptimises and unloads classes all the time. Each worker defines classes in a new
 * loader, executes them for some milliseconds, and drops them; another thread collects the garbage. The name of a
 * class says which worker executes it, and the worker logs when it did:
 *
 *   log WORKER GENERATION BEGIN END
 *
 * So of each frame it is known whether it can be on the stack of a thread at a time. With the argument "keep" no class
 * is unloaded, but their code still is.
 */
public class Churn {
    /** A Task is what a generated class does. */
    public interface Task { long applyAsLong(long n, Base base); }

    /** Classes that extend this one come and go, which makes compiled code invalid that has relied on their number. */
    public static class Base {
        public long value(long n) { return n + 1; }
    }

    static class Loader extends ClassLoader {
        Loader() { super(Churn.class.getClassLoader()); }

        Class<?> define(byte[] bytes) { return defineClass(null, bytes, 0, bytes.length); }
    }

    static final String[] TEMPLATES = {"G0_000000_00", "S0_000000_00"};
    static final int CLASSES = 4, WORKERS = 2;
    static volatile boolean stopped;
    static volatile long sink;
    static List<Object> kept; // null for none

    public static void main(String[] args) throws Exception {
        if (args.length > 0 && args[0].equals("keep")) {
            kept = java.util.Collections.synchronizedList(new ArrayList<>());
        }
        byte[][] templates = {read(TEMPLATES[0]), read(TEMPLATES[1])};
        List<Thread> threads = new ArrayList<>();
        StringBuilder[] logs = new StringBuilder[WORKERS];
        for (int i = 0; i < WORKERS; i++) {
            int worker = i;
            StringBuilder log = logs[i] = new StringBuilder();
            threads.add(new Thread(() -> work(worker, templates, log), "worker-" + i));
        }
        threads.add(new Thread(Churn::collect, "collector"));
        for (Thread thread : threads) {
            thread.start();
        }
        System.out.println("ready");
        while (System.in.read() >= 0) { }
        stopped = true;
        for (Thread thread : threads) {
            thread.join();
        }
        for (StringBuilder log : logs) {
            System.out.print(log);
        }
        System.out.println("done");
    }

    static byte[] read(String name) throws Exception {
        try (InputStream in = Churn.class.getResourceAsStream(name + ".class")) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            byte[] part = new byte[4096];
            for (int n = in.read(part); n >= 0; n = in.read(part)) {
                out.write(part, 0, n);
            }
            return out.toByteArray();
        }
    }

    /** Returns a class file with another name. */
    static byte[] rename(byte[] bytes, String from, String to) {
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        return text.replace(from, to).getBytes(StandardCharsets.ISO_8859_1);
    }

    static void collect() {
        try {
            while (!stopped) {
                System.gc();
                Thread.sleep(5);
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void work(int worker, byte[][] templates, StringBuilder log) {
        Random random = new Random(worker);
        try {
            for (int generation = 1; !stopped; generation++) {
                Loader loader = new Loader();
                String name = String.format("%d_%06d_", worker, generation);
                Base[] bases = {new Base(), null};
                Task[] tasks = new Task[CLASSES];
                for (int i = 0; i < CLASSES; i++) {
                    String of = name + String.format("%02d", i);
                    tasks[i] = (Task) loader.define(rename(templates[0], TEMPLATES[0], "G" + of)).getDeclaredConstructor().newInstance();
                }
                if (kept != null) {
                    kept.add(loader);
                }
                long begin = System.nanoTime();
                long length = 2_000_000 + random.nextInt(400_000_000);
                sink += use(tasks, bases, begin + length / 2);
                // A class that overrides a method makes what was compiled until now invalid.
                bases[1] = (Base) loader.define(rename(templates[1], TEMPLATES[1], "S" + name + "00")).getDeclaredConstructor().newInstance();
                sink += use(tasks, bases, begin + length);
                log.append("log ").append(worker).append(' ').append(generation).append(' ').append(begin).append(' ').append(System.nanoTime()).append('\n');
            }
        } catch (Exception e) {
            e.printStackTrace();
            System.exit(1);
        }
    }

    static long use(Task[] tasks, Base[] bases, long end) {
        long sum = 0;
        for (int i = 0; System.nanoTime() < end; i++) {
            Base base = bases[i & 1] == null ? bases[0] : bases[i & 1];
            for (int k = 0; k < 10; k++) {
                sum += tasks[i % tasks.length].applyAsLong(sum, base);
            }
        }
        return sum;
    }
}
