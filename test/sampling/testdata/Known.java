import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.function.LongUnaryOperator;
import java.util.stream.LongStream;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

/**
 * A program whose stacks are known. Two threads, main and "worker", execute parts for some milliseconds
 * each, in random order. They log for each execution when it began and ended, and how much processor time
 * it took. So what a sample must show follows from its time.
 *
 * It ends with its input, and then prints a line for each execution: thread, part, begin, end and
 * processor time. The clock is System.nanoTime, which is the kernel's CLOCK_MONOTONIC.
 *
 * Names say who calls a method: name2 is called by name1, and that by name, which is a part.
 */
public class Known {
    interface Part { long run(long end) throws Throwable; }

    /** A Log holds the last executions of one thread. */
    static class Log {
        final int[] part = new int[1 << 16];
        final long[] begin = new long[1 << 16], end = new long[1 << 16], processor = new long[1 << 16];
        int count;

        void add(int which, long from, long to, long time) {
            int at = count++ & part.length - 1;
            part[at] = which;
            begin[at] = from;
            end[at] = to;
            processor[at] = time;
        }

        void print(String thread, String[] names) {
            StringBuilder text = new StringBuilder();
            for (int i = Math.max(0, count - part.length); i < count; i++) {
                int at = i & part.length - 1;
                text.append("log ").append(thread).append(' ').append(names[part[at]]).append(' ').append(begin[at]).append(' ')
                    .append(end[at]).append(' ').append(processor[at]).append('\n');
            }
            System.out.print(text);
        }
    }

    static final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    static volatile boolean stopped;
    static volatile long sink;

    static void execute(String[] names, Part[] parts, Log log, long seed) {
        Random random = new Random(seed);
        try {
            while (!stopped) {
                int which = random.nextInt(parts.length);
                long length = 1_000_000 + random.nextInt(8_000_000);
                long processor = threads.getCurrentThreadCpuTime();
                long begin = System.nanoTime();
                sink += parts[which].run(begin + length);
                long end = System.nanoTime();
                log.add(which, begin, end, threads.getCurrentThreadCpuTime() - processor);
            }
        } catch (Throwable e) {
            e.printStackTrace();
            System.exit(1);
        }
    }

    public static void main(String[] args) throws Exception {
        String[] names = args;
        Part[] parts = new Part[names.length];
        for (int i = 0; i < names.length; i++) {
            parts[i] = part(names[i]);
        }
        Log mainLog = new Log(), workerLog = new Log();
        Thread worker = new Thread(() -> execute(names, parts, workerLog, 1), "worker");
        worker.start();
        Thread input = new Thread(Known::awaitEnd, "input");
        input.start();
        System.out.println("ready");
        execute(names, parts, mainLog, 2);
        worker.join();
        mainLog.print("main", names);
        workerLog.print("worker", names);
        System.out.println("done");
    }

    static void awaitEnd() {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in))) {
            while (in.readLine() != null) { }
        } catch (java.io.IOException e) {
            e.printStackTrace();
        }
        stopped = true;
    }

    static Part part(String name) throws Exception {
        switch (name) {
        case "loop": return Known::loop;
        case "inlined": return Known::inlined;
        case "recursion": return Known::recursion;
        case "deep": return Known::deep;
        case "lambda": return Known::lambda;
        case "stream": return Known::stream;
        case "reflection": return Known::reflection;
        case "handle": return Known::handle;
        case "nativeCode": return Known::nativeCode;
        case "intrinsic": return Known::intrinsic;
        case "monitor": return Known::monitor;
        case "megamorphic": return Known::megamorphic;
        case "exception": return Known::exception;
        case "allocation": return Known::allocation;
        case "virtual": return new Virtual();
        }
        throw new IllegalArgumentException(name);
    }

    static long loop(long end) {
        long sum = 0;
        while (System.nanoTime() < end) {
            for (int i = 0; i < 1000; i++) {
                sum = sum * 31 + i;
            }
        }
        return sum;
    }

    /**
     * Five methods that a compiler puts into each other. Each works, in a loop that has to poll for safepoints:
     * HotSpot records only for certain instructions, such as calls and polls, which methods they belong to.
     * So profilers show for other instructions the methods of the next recorded one.
     */
    static long inlined(long end) {
        long sum = 0;
        while (System.nanoTime() < end) {
            sum += inlined1(sum);
        }
        return sum;
    }

    static long inlined1(long n) { return inlined2(work(n, 100)) + 1; }

    static long inlined2(long n) { return inlined3(work(n, 100)) + 2; }

    static long inlined3(long n) { return inlined4(work(n, 100)) + 3; }

    static long inlined4(long n) { return inlined5(work(n, 100)) + 4; }

    static long inlined5(long n) { return work(n, 100) + 5; }

    static long work(long n, long times) {
        for (long i = 0; i < times; i++) {
            n = n * 31 + i;
        }
        return n;
    }

    static long recursion(long end) { return recursion1(100, end); }

    static long recursion1(int n, long end) { return n == 0 ? recursion2(end) : recursion1(n - 1, end) + 1; }

    static long recursion2(long end) {
        long sum = 0;
        while (System.nanoTime() < end) {
            sum += work(sum, 1000);
        }
        return sum;
    }

    /** As recursion, with more frames than the kernel copies. */
    static long deep(long end) { return deep1(2000, end); }

    static long deep1(int n, long end) { return n == 0 ? deep2(end) : deep1(n - 1, end) + 1; }

    static long deep2(long end) {
        long sum = 0;
        while (System.nanoTime() < end) {
            sum += work(sum, 1000);
        }
        return sum;
    }

    static final LongUnaryOperator[] operators = {
        n -> work(n, 300), n -> work(n + 1, 200), n -> work(n ^ 5, 100),
    };

    static long lambda(long end) {
        long sum = 0;
        for (int i = 0; System.nanoTime() < end; i++) {
            sum += operators[i % operators.length].applyAsLong(sum);
        }
        return sum;
    }

    static long stream(long end) {
        long sum = 0;
        while (System.nanoTime() < end) {
            sum += LongStream.range(0, 200).filter(n -> n % 3 != 0).map(Known::stream1).sum();
        }
        return sum;
    }

    static long stream1(long n) { return work(n, 20); }

    static final Method reflected = method("reflection1");

    static long reflection(long end) throws Throwable {
        long sum = 0;
        while (System.nanoTime() < end) {
            sum += (Long) reflected.invoke(null, sum);
        }
        return sum;
    }

    static long reflection1(long n) { return work(n, 500); }

    static Method method(String name) {
        try {
            return Known.class.getDeclaredMethod(name, long.class);
        } catch (NoSuchMethodException e) {
            throw new IllegalStateException(e);
        }
    }

    static MethodHandle handled; // not final, so that it is not inlined

    static long handle(long end) throws Throwable {
        if (handled == null) {
            handled = MethodHandles.lookup().findStatic(Known.class, "handle1", MethodType.methodType(long.class, long.class));
        }
        long sum = 0;
        while (System.nanoTime() < end) {
            sum += (long) handled.invokeExact(sum);
        }
        return sum;
    }

    static long handle1(long n) { return work(n, 500); }

    static final byte[] bytes = new byte[1 << 16];

    static {
        new Random(3).nextBytes(bytes);
    }

    static long nativeCode(long end) {
        long sum = 0;
        byte[] out = new byte[1 << 13];
        while (System.nanoTime() < end) {
            Deflater deflater = new Deflater();
            deflater.setInput(bytes, 0, 1 << 12);
            deflater.finish();
            sum += deflater.deflate(out);
            deflater.end();
        }
        return sum;
    }

    static long intrinsic(long end) {
        long sum = 0;
        byte[] copy = new byte[bytes.length];
        char[] chars = new char[5000];
        Arrays.fill(chars, 'a');
        String text = new String(chars);
        while (System.nanoTime() < end) {
            System.arraycopy(bytes, 0, copy, 0, copy.length);
            Arrays.fill(copy, (byte) sum);
            CRC32 crc = new CRC32();
            crc.update(bytes, 0, 4000);
            sum += crc.getValue() + text.indexOf("ab") + (long) (Math.sin(sum) * Math.pow(sum, 0.3) * 100);
            sum += Arrays.equals(bytes, copy) ? 1 : 0;
        }
        return sum;
    }

    static final Object lock = new Object();

    /** Both threads execute this, so that some wait for the other. */
    static long monitor(long end) {
        long sum = 0;
        while (System.nanoTime() < end) {
            synchronized (lock) {
                sum += monitor1(sum);
            }
        }
        return sum;
    }

    static synchronized long monitor1(long n) { return work(n, 50); }

    interface Shape { long megamorphic1(long n); }

    static final Shape[] shapes = {
        new Shape() { public long megamorphic1(long n) { return work(n, 10); } },
        new Shape() { public long megamorphic1(long n) { return work(n, 11); } },
        new Shape() { public long megamorphic1(long n) { return work(n, 12); } },
        new Shape() { public long megamorphic1(long n) { return work(n, 13); } },
    };

    static long megamorphic(long end) {
        long sum = 0;
        while (System.nanoTime() < end) {
            for (int i = 0; i < 100; i++) {
                sum += shapes[i & 3].megamorphic1(sum);
            }
        }
        return sum;
    }

    static long exception(long end) {
        long sum = 0;
        while (System.nanoTime() < end) {
            try {
                sum += exception1(5);
            } catch (IllegalStateException e) {
                sum += e.getStackTrace().length;
            }
        }
        return sum;
    }

    static long exception1(int n) {
        if (n == 0) {
            throw new IllegalStateException("expected");
        }
        return exception1(n - 1) + 1;
    }

    static long allocation(long end) {
        long sum = 0;
        while (System.nanoTime() < end) {
            Map<String, long[]> map = new HashMap<>();
            for (int i = 0; i < 50; i++) {
                map.put("key" + i, new long[i]);
            }
            sum += map.size();
        }
        return sum;
    }

    /** Work in a new virtual thread. It is started by reflection, because older releases have none. */
    static class Virtual implements Part {
        final Method start;

        Virtual() throws Exception { start = Thread.class.getMethod("startVirtualThread", Runnable.class); }

        public long run(long end) throws Throwable {
            long[] result = new long[1];
            Thread thread = (Thread) start.invoke(null, (Runnable) () -> result[0] = virtual1(end));
            thread.join();
            return result[0];
        }
    }

    static long virtual1(long end) {
        long sum = 0;
        while (System.nanoTime() < end) {
            for (int i = 0; i < 10; i++) {
                sum += virtual2(sum);
            }
            Thread.yield(); // leaves the carrier thread, with all frames
        }
        return sum;
    }

    static long virtual2(long n) { return work(n, 1000); }
}
