package driven;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;

/**
 * Times twins on commands from its standard input, and exits when that ends:
 *
 * <pre>
 * time TWIN SHAPE TURNS BATCHES    →  time NANOS…    of each batch
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
            String[] words = line.split(" ");
            System.out.println("time" + time(find(words[1], words[2]), Integer.parseInt(words[3]), Integer.parseInt(words[4])));
        }
        if (seed == 0) {
            throw new AssertionError("a shape does no work");
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
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < batches; i++) {
            long start = System.nanoTime();
            seed = shape.run(seed, turns);
            text.append(' ').append(System.nanoTime() - start);
        }
        return text.toString();
    }
}
