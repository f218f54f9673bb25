import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntUnaryOperator;

/** Takes orders in threads of a pool, refuses some, and loads a class that is unloaded soon after. Counts its own calls. */
final class TortureWork implements RealProgram.Work {
    private static final ExecutorService POOL = Executors.newFixedThreadPool(2, task -> {
        Thread thread = new Thread(task, "pool");
        thread.setDaemon(true);
        return thread;
    });
    private static final AtomicLong ORDERS = RealProgram.counter("TortureWork.order(I)I");
    private static final AtomicLong PRICES = RealProgram.counter("TortureWork.price(I)I");
    private static final AtomicLong REFUSED = RealProgram.counter("threw TortureWork.price(I)I");
    private static final AtomicLong STEPS = RealProgram.counter("TortureWork$Steps.step(I)I");
    private static final AtomicLong MADE = RealProgram.counter("TortureWork$Item.<init>(I)V");
    static final AtomicLong PASSED = RealProgram.counter("TorturePassing.applyAsInt(I)I");
    private static final AtomicLong ROUNDS = new AtomicLong();
    private static final int UNLOAD = 64; // rounds between collections

    static final class Item {
        final int cents;

        Item(int cents) {
            MADE.incrementAndGet();
            this.cents = cents;
        }
    }

    /** Has nothing for which a JVM keeps memory at each retransformation, as it does for lambda expressions. */
    static final class Steps {
        private Steps() {
        }

        static int step(int number) {
            STEPS.incrementAndGet();
            int x = number;
            for (int i = 0; i < 200; i++) {
                x = x * 1103515245 + 12345 ^ x >>> 7;
            }
            return x;
        }
    }

    /** Defines one class itself, each time anew. */
    static final class Passing extends ClassLoader {
        Passing() {
            super(TortureWork.class.getClassLoader());
        }

        IntUnaryOperator load(byte[] bytes) throws ReflectiveOperationException {
            Class<?> type = defineClass("TorturePassing", bytes, 0, bytes.length);
            return type.asSubclass(IntUnaryOperator.class).getDeclaredConstructor().newInstance();
        }
    }

    private final byte[] passing;

    TortureWork() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (InputStream in = TortureWork.class.getResourceAsStream("TorturePassing.class")) {
            for (int b = in.read(); b >= 0; b = in.read()) {
                bytes.write(b);
            }
        }
        passing = bytes.toByteArray();
    }

    @Override
    public String round() throws Exception {
        int sum = 0;
        for (int i = 0; i < 300; i++) {
            sum = sum * 31 + order(i);
        }
        IntUnaryOperator passed = new Passing().load(passing);
        for (int i = 0; i < 20; i++) {
            PASSED.incrementAndGet();
            sum = passed.applyAsInt(sum);
        }
        if (ROUNDS.incrementAndGet() % UNLOAD == 0) {
            System.gc();
        }
        return Integer.toHexString(sum);
    }

    static int order(int number) throws Exception {
        ORDERS.incrementAndGet();
        Callable<Integer> task = () -> price(number);
        Future<Integer> price = POOL.submit(task);
        try {
            return price.get() + Steps.step(number);
        } catch (java.util.concurrent.ExecutionException refusal) {
            return refusal.getCause().getMessage().length();
        }
    }

    static int price(int number) {
        PRICES.incrementAndGet();
        if (number % 10 == 0) {
            REFUSED.incrementAndGet();
            throw new IllegalStateException("no price for " + number);
        }
        return new Item(Steps.step(number)).cents;
    }
}
