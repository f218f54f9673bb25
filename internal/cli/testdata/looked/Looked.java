package looked;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Works on request, in several threads, counts its own calls, and says what it has counted. Another thread is
 * always busy, with methods that nobody looks at.
 */
public final class Looked {
    private static final int THREADS = 3;
    private static volatile long sink;

    /** What the methods have counted, each for itself. */
    enum Own { HANDLE, CHARGE, GOLD, DEAR, HANDLED_GOLD, HANDLED_IRON, AUDIT, REFUSE, REFUND }

    private static final AtomicLongArray OWN = new AtomicLongArray(Own.values().length);

    static void count(Own own) {
        OWN.incrementAndGet(own.ordinal());
    }

    static final class Order {
        final String tier;

        Order(String tier) {
            this.tier = tier;
        }
    }

    static final class Pay {
        private final AtomicLong charged = new AtomicLong();

        long charge(Order order, int cents) {
            count(Own.CHARGE);
            if (order.tier.equals("gold")) {
                count(Own.GOLD);
            }
            if (cents >= 3) {
                count(Own.DEAR);
            }
            return charged.addAndGet(cents);
        }
    }

    static final class Book {
        long audit(Order order, int cents) {
            count(Own.AUDIT);
            long x = cents;
            for (int i = 0; i < 50; i++) {
                x = x * 25214903917L + 11 ^ x >>> 7;
            }
            sink += x;
            return x;
        }

        void refuse(Order order) {
            count(Own.REFUSE);
            throw new IllegalStateException("no coupon");
        }
    }

    static final class Web {
        private final Pay pay;
        private final Book book = new Book();

        Web(Pay pay) {
            this.pay = pay;
        }

        void handle(Order order, int cents) {
            count(Own.HANDLE);
            count(order.tier.equals("gold") ? Own.HANDLED_GOLD : Own.HANDLED_IRON);
            pay.charge(order, cents);
            book.audit(order, cents);
            try {
                book.refuse(order);
            } catch (IllegalStateException expected) {
                sink++;
            }
        }
    }

    static final class Desk {
        private final Pay pay;

        Desk(Pay pay) {
            this.pay = pay;
        }

        void refund(Order order, int cents) {
            count(Own.REFUND);
            pay.charge(order, -cents);
        }
    }

    private Looked() {
    }

    public static void main(String[] args) throws Exception {
        Pay pay = new Pay();
        Web web = new Web(pay);
        Desk desk = new Desk(pay);
        work(web, desk, 1);
        Thread busy = new Thread(Looked::stayBusy);
        busy.setDaemon(true);
        busy.start();
        ExecutorService workers = Executors.newFixedThreadPool(THREADS);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            int rounds = Integer.parseInt(line);
            List<Future<?>> parts = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                parts.add(workers.submit(() -> work(web, desk, rounds)));
            }
            for (Future<?> part : parts) {
                part.get();
            }
            StringBuilder counts = new StringBuilder("counts");
            for (Own own : Own.values()) {
                counts.append(' ').append(own.name().toLowerCase()).append('=').append(OWN.get(own.ordinal()));
            }
            System.out.println(counts.append(" charged=").append(pay.charged.get()));
        }
        workers.shutdown();
    }

    private static void work(Web web, Desk desk, int rounds) {
        for (int i = 0; i < rounds; i++) {
            web.handle(new Order("gold"), i);
            web.handle(new Order("iron"), i + 1);
            desk.refund(new Order(i % 2 == 0 ? "gold" : "iron"), i);
        }
    }

    private static void stayBusy() {
        TreeMap<Integer, String> map = new TreeMap<>();
        for (int i = 0; true; i++) {
            map.put(i % 1000, Integer.toString(i));
            sink += map.hashCode();
        }
    }
}
