package applied;

import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Sells and refunds as it is told, and says when it has. */
public final class Shop {
    static final class Order {
        final String tier;

        Order(String tier) {
            this.tier = tier;
        }
    }

    static final class Pay {
        static int charged;

        static void charge(Order order, int cents) {
            charged += cents;
        }
    }

    static final class Web {
        static void handle(Order order, int cents) {
            Pay.charge(order, cents);
        }
    }

    static final class Desk {
        static void refund(Order order, int cents) {
            Pay.charge(order, -cents);
        }
    }

    private Shop() {
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        sell(1, "none");
        refund(1, "none");
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("sell")) {
                sell(Integer.parseInt(words[1]), words[2]);
            } else {
                refund(Integer.parseInt(words[1]), words[2]);
            }
            System.out.println("done");
        }
    }

    /** The first costs 0, each other one more than the one before. */
    private static void sell(int times, String tier) {
        for (int i = 0; i < times; i++) {
            Web.handle(new Order(tier), i);
        }
    }

    private static void refund(int times, String tier) {
        for (int i = 0; i < times; i++) {
            Desk.refund(new Order(tier), i);
        }
    }
}
