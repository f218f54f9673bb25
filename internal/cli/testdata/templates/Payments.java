package templates;

import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Pays as it is told, in several threads, and says what it has done. */
public final class Payments {
    static long orders;
    static long cents;
    static long largest;
    static long refused;
    static long made;
    static long wrong;

    static class Payment {
        final int cents;

        Payment(int cents) {
            this.cents = Integer.parseInt("" + cents);
        }
    }

    private Payments() {
    }

    static int pay(Payment payment, int cents, String tenant) {
        if (cents % 10 == 3) {
            throw new IllegalArgumentException("refused");
        }
        return payment.cents + cents;
    }

    /** Is public for a template that calls it. */
    public static long twice(long n) {
        return 2 * n;
    }

    private static synchronized void add(long paid, long value, long most, long not, long makes, long errors) {
        orders += paid;
        cents += value;
        largest = Math.max(largest, most);
        refused += not;
        made += makes;
        wrong += errors;
    }

    private static void work(int times) {
        long paid = 0;
        long value = 0;
        long most = 0;
        long not = 0;
        long errors = 0;
        for (int i = 0; i < times; i++) {
            int amount = i % 100;
            Payment payment = new Payment(amount);
            if (twice(amount) != 2 * amount) {
                errors++;
            }
            try {
                if (pay(payment, amount, i % 2 == 0 ? "red" : "blue") != 2 * amount) {
                    errors++;
                }
                paid++;
                value += amount;
                most = Math.max(most, amount);
            } catch (IllegalArgumentException e) {
                if (!"refused".equals(e.getMessage())) {
                    errors++;
                }
                not++;
            }
        }
        add(paid, value, most, not, times, errors);
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        work(10);
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            final int times = Integer.parseInt(line);
            orders = cents = largest = refused = made = wrong = 0;
            Thread[] threads = new Thread[4];
            for (int i = 0; i < threads.length; i++) {
                threads[i] = new Thread(new Runnable() {
                    @Override
                    public void run() {
                        work(times);
                    }
                });
                threads[i].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            System.out.println("done " + orders + " " + cents + " " + largest + " " + refused + " " + made + " " + wrong);
        }
    }
}
