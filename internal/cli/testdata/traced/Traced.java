package traced;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Handles orders when it is told to, and says when it has. Each makes the same known calls. */
public final class Traced {
    private static final ExecutorService WORKERS = Executors.newSingleThreadExecutor();
    private static volatile long sink;

    /** What is handled. */
    static final class Order {
        final int number;
        final String tenant;
        final String cardNumber;
        final boolean isSlow;

        Order(int number, boolean isSlow) {
            this.number = number;
            this.tenant = number % 2 == 0 ? "acme" : "globex";
            this.cardNumber = "4111-" + number;
            this.isSlow = isSlow;
        }
    }

    /** The methods that are traced. */
    static final class Shop {
        String handle(Order order, String query) throws Exception {
            long seed = load(order);
            for (int i = 0; i < 5; i++) {
                seed = look(seed + i);
            }
            if (order.isSlow) {
                wait(order);
            }
            try {
                refuse(order);
            } catch (IllegalStateException expected) {
                seed++;
            }
            WORKERS.submit(() -> audit(order)).get();
            sink += seed;
            return "done " + order.number;
        }

        long load(Order order) {
            return look(order.number) + look(order.number + 1);
        }

        /** Long enough to be worth a hook. */
        long look(long seed) {
            long x = seed * 31 + 7;
            for (int i = 0; i < 40; i++) {
                x = x * 25214903917L + 11 ^ x >>> 7;
            }
            return x;
        }

        void wait(Order order) throws Exception {
            Thread.sleep(60 + order.number % 2);
        }

        void refuse(Order order) {
            throw new IllegalStateException("order " + order.number + " has no coupon" + sink);
        }

        void audit(Order order) {
            sink += look(order.number) + look(order.number);
        }
    }

    public static void main(String[] args) throws Exception {
        Shop shop = new Shop();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        int number = 0;
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            for (int i = 0; i < Integer.parseInt(words[1]); i++) {
                number++;
                shop.handle(new Order(number, words[0].equals("slow")), "id=" + number + "&token=hidden" + number);
            }
            System.out.println("handled " + words[0]);
        }
        WORKERS.shutdown();
    }
}
