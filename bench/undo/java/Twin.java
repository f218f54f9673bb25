import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Works for as many milliseconds of processor time as a line of its input says, and prints how many operations
 * that were. Time in which others had the processor does not count.
 */
public final class Twin {
    private final Map<String, Integer> stock = new HashMap<>();
    private final List<Item> items = new ArrayList<>();

    private static final class Item {
        private final String name;
        private final int price;

        Item(String name, int price) {
            this.name = name;
            this.price = price;
        }

        String name() {
            return name;
        }

        int price() {
            return price;
        }
    }

    private Twin() {
        for (int i = 0; i < 64; i++) {
            items.add(new Item("item-" + i, 7 * i));
        }
    }

    /** Prints "ready", then a line "work OPERATIONS NANOS" for each line "work MILLISECONDS". */
    public static void main(String[] args) throws Exception {
        Twin twin = new Twin();
        ThreadMXBean clock = ManagementFactory.getThreadMXBean();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            long length = Long.parseLong(line.split(" ")[1]) * 1_000_000;
            long start = clock.getCurrentThreadCpuTime();
            long operations = 0;
            long now = start;
            for (; now - start < length; now = clock.getCurrentThreadCpuTime()) {
                operations += twin.block();
            }
            System.out.println("work " + operations + " " + (now - start));
        }
    }

    private int block() {
        int done = 0;
        for (int i = 0; i < 200; i++) {
            done += order(i);
        }
        return done;
    }

    private int order(int number) {
        long sum = 0;
        for (Item item : items) {
            if (isWanted(item, number)) {
                sum += take(item);
            }
        }
        if (sum == Long.MIN_VALUE) {
            throw new IllegalStateException("a sum that cannot be");
        }
        return 1;
    }

    private static boolean isWanted(Item item, int number) {
        return item.price() % 5 != number % 5;
    }

    private int take(Item item) {
        return stock.merge(item.name(), 1, Twin::added) + item.price();
    }

    private static Integer added(Integer had, Integer more) {
        return had + more & 0xff;
    }
}
