package overhead;

import com.sun.management.ThreadMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Constructor;

/**
 * Times shapes on commands from its standard input, and exits when that ends:
 *
 * <pre>
 * time TWIN SHAPE TURNS BATCHES    →  time NANOS…             of each batch
 * allocated TWIN SHAPE TURNS       →  allocated BYTES         on the Java heap, by this thread
 * calls TWIN SHAPE                 →  calls NUMBER            of methods in one turn
 * </pre>
 *
 * Batches are short, so that most of them are not interrupted by what else runs on the machine.
 */
public final class Driver {
    private static long seed = 0x9E3779B97F4A7C15L;

    private Driver() {
    }

    public static void main(String[] args) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(answer(line.split(" ")));
        }
        if (seed == 0) {
            throw new AssertionError("a shape does no work");
        }
    }

    private static String answer(String[] words) {
        Shape shape = find(words[1], words[2]);
        switch (words[0]) {
            case "time":
                return "time" + time(shape, Integer.parseInt(words[3]), Integer.parseInt(words[4]));
            case "allocated":
                return "allocated " + allocated(shape, Integer.parseInt(words[3]));
            case "calls":
                return "calls " + shape.calls();
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static Shape find(String twin, String shape) {
        try {
            Constructor<?> constructor = Class.forName(twin + "." + shape).getDeclaredConstructor();
            constructor.setAccessible(true);
            return (Shape) constructor.newInstance();
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException(twin + "." + shape, e);
        }
    }

    private static String time(Shape shape, int turns, int batches) {
        long[] nanos = new long[batches];
        for (int i = 0; i < batches; i++) {
            long start = System.nanoTime();
            seed = shape.run(seed, turns);
            nanos[i] = System.nanoTime() - start;
        }
        StringBuilder text = new StringBuilder();
        for (long n : nanos) {
            text.append(' ').append(n);
        }
        return text.toString();
    }

    private static long allocated(Shape shape, int turns) {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long self = Thread.currentThread().getId();
        seed = shape.run(seed, turns); // what is made once, by whoever runs first, is not by calls
        long before = threads.getThreadAllocatedBytes(self);
        seed = shape.run(seed, turns);
        return threads.getThreadAllocatedBytes(self) - before;
    }
}
