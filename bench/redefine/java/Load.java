import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.LongUnaryOperator;

/**
 * A program that does the same kind of work for ever and keeps its own account of how fast: threads
 * run steps in no order, another notes every few milliseconds how many were done. For a line "mark"
 * on its input it forgets its notes, for "notes" it prints them, three numbers each: nanoseconds, steps,
 * nanoseconds of processor time the working threads had.
 */
public final class Load {
    private static final int EVERY = 5;
    private static final int SPACING = 16; // keeps the threads' counts in cache lines of their own

    private static long[] notes = new long[3 << 15];
    private static int noted;

    /** Its code has the name of Step, but every copy is a class of its own. */
    private static final class Copy extends ClassLoader {
        Copy() {
            super(Load.class.getClassLoader());
        }

        LongUnaryOperator step(byte[] code) throws ReflectiveOperationException {
            Class<?> type = defineClass("Step", code, 0, code.length);
            return (LongUnaryOperator) type.getDeclaredConstructor().newInstance();
        }
    }

    public static void main(String[] args) throws Exception {
        int workers = Integer.parseInt(args[0]);
        int copies = Integer.parseInt(args[1]);
        Class.forName("Cold", true, Load.class.getClassLoader());
        byte[] code = codeOfStep();
        AtomicLongArray done = new AtomicLongArray(workers * SPACING);
        long[] threads = new long[workers];
        for (int i = 0; i < workers; i++) {
            LongUnaryOperator[] steps = new LongUnaryOperator[copies];
            for (int j = 0; j < copies; j++) {
                steps[j] = new Copy().step(code);
            }
            int slot = i * SPACING;
            threads[i] = start("worker " + i, () -> work(steps, done, slot));
        }
        start("notes", () -> note(done, threads));
        System.out.println("ready");
        obey();
        System.exit(0);
    }

    private static byte[] codeOfStep() throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (InputStream in = Load.class.getResourceAsStream("/Step.class")) {
            in.transferTo(out);
        }
        return out.toByteArray();
    }

    private static long start(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
        return thread.getId();
    }

    private static void work(LongUnaryOperator[] steps, AtomicLongArray done, int slot) {
        long state = 88172645463325252L + slot;
        for (long count = 1;; count++) {
            state ^= state << 13;
            state ^= state >>> 7;
            state ^= state << 17;
            LongUnaryOperator step = steps[(int) Long.remainderUnsigned(state, steps.length)];
            state ^= step.applyAsLong(state) | 1;
            done.lazySet(slot, count);
        }
    }

    private static void note(AtomicLongArray done, long[] threads) {
        ThreadMXBean clock = ManagementFactory.getThreadMXBean();
        try {
            while (true) {
                Thread.sleep(EVERY);
                long sum = 0;
                for (int i = 0; i < done.length(); i += SPACING) {
                    sum += done.get(i);
                }
                long used = 0;
                for (long thread : threads) {
                    used += clock.getThreadCpuTime(thread);
                }
                synchronized (Load.class) {
                    if (noted + 3 <= notes.length) {
                        notes[noted++] = System.nanoTime();
                        notes[noted++] = sum;
                        notes[noted++] = used;
                    }
                }
            }
        } catch (InterruptedException e) {
            System.exit(1);
        }
    }

    private static void obey() throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            StringBuilder answer = new StringBuilder(line);
            synchronized (Load.class) {
                if (line.equals("mark")) {
                    noted = 0;
                }
                if (line.equals("notes")) {
                    for (int i = 0; i < noted; i++) {
                        answer.append(' ').append(notes[i]);
                    }
                }
            }
            System.out.println(answer.append(" at ").append(System.nanoTime()));
        }
    }
}
