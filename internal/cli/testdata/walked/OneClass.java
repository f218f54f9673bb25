import java.util.concurrent.locks.LockSupport;

/** A plain program of one class: burn has the time, and most of its calls come from prices. */
public final class OneClass {
    static volatile long sink;

    private OneClass() {
    }

    static long burn(long seed) {
        long h = seed;
        for (int i = 0; i < 2000; i++) {
            h ^= h << 13;
            h ^= h >>> 7;
            h ^= h << 17;
        }
        return h;
    }

    static long prices(long seed) {
        long sum = 0;
        for (int i = 0; i < 14; i++) {
            sum += burn(seed + i);
        }
        return sum;
    }

    static long taxes(long seed) {
        long sum = 0;
        for (int i = 0; i < 6; i++) {
            sum += burn(seed - i);
        }
        return sum;
    }

    /** Sells some orders at a time, so that the machine has time for others. */
    static void sell() {
        for (long order = 0;; order++) {
            sink += prices(order) + taxes(order);
            if (order == 100) {
                System.out.println("ready");
            }
            if (order % 20 == 0) {
                LockSupport.parkNanos(4_000_000);
            }
        }
    }

    public static void main(String[] args) throws java.io.IOException {
        Thread seller = new Thread(OneClass::sell);
        seller.setDaemon(true);
        seller.start();
        while (System.in.read() >= 0) {
            // until the end of its input
        }
    }
}
