package app;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * A shop that takes orders when it is told to, and counts what it does. Each order has a customer, and is priced by a
 * thread of a pool. Commands are lines: "orders N" takes N orders, "load" computes all the time from then on,
 * "rush" takes rates in eight threads until the next line.
 */
public final class Shop {
    private static final String[] CUSTOMERS = {"ann", "bob", "eve"};
    private static final ExecutorService POOL = Executors.newFixedThreadPool(2);

    /** What happened: orders, prices of the orders of bob, prices that were refused, steps. */
    static long orders;
    static volatile long ofBob;
    static volatile long refused;
    static volatile long steps;
    static volatile double sink;
    private static boolean loaded;
    private static volatile int lines;

    private Shop() {
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            lines++;
            if (line.equals("load")) {
                load();
            } else if (line.equals("rush")) {
                rush(lines);
            } else {
                for (int i = Integer.parseInt(line.split(" ")[1]); i > 0; i--) {
                    order(CUSTOMERS[i % 3], i);
                }
                System.out.println("counted " + orders + " " + ofBob + " " + refused + " " + steps);
            }
        }
        System.exit(0);
    }

    static double order(final String customer, final int number) {
        orders++;
        Future<Double> price = POOL.submit(() -> price(customer, number));
        try {
            return price.get() + (Double) Shop.class.getDeclaredMethod("tax", int.class).invoke(null, number);
        } catch (Exception refusal) {
            return 0;
        }
    }

    static double price(String customer, int number) {
        if (customer.equals("bob")) {
            ofBob++;
        }
        if (number % 10 == 0) {
            refused++;
            throw new IllegalStateException("no price");
        }
        double sum = 0;
        for (int i = 0; i < 3; i++) {
            sum += step(number + i);
        }
        return sum;
    }

    static double step(int number) {
        steps++;
        double sum = 0;
        for (int i = 0; i < 20_000; i++) {
            sum += Math.sqrt(number + i);
        }
        sink = sum;
        return sum;
    }

    /** Overloaded, so that a caller cannot be found by its name alone. */
    static double tax(int number) {
        return tax((double) number);
    }

    static double tax(double number) {
        return rate() * number;
    }

    static double often(int number) {
        return step(number) + step(number + 1) + step(number + 2);
    }

    static double rarely(int number) {
        return step(number);
    }

    static double rate() {
        return 0.2;
    }

    private static void rush(final int number) {
        for (int i = 0; i < 8; i++) {
            Thread rush = new Thread(() -> {
                while (lines == number) {
                    sink = rate();
                }
            }, "rush");
            rush.setDaemon(true);
            rush.start();
        }
    }

    private static void load() {
        if (loaded) {
            return;
        }
        loaded = true;
        Thread load = new Thread(() -> {
            for (int i = 0;; i++) {
                sink = often(i) + rarely(i);
            }
        }, "load");
        load.setDaemon(true);
        load.start();
    }
}
