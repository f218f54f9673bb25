package contexts;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Charges customers, by the web and by a job, in its own thread and in others. */
public final class Contexts {
    private Contexts() {
    }

    static final class Customer {
        private final String tier;

        Customer(String tier) {
            this.tier = tier;
        }

        String getTier() {
            return tier;
        }
    }

    static class Pay {
        private int total;

        synchronized boolean charge(Customer customer, int cents) {
            total += cents;
            return cents % 2 == 0;
        }
    }

    static final class Order {
        private final Pay pay = new Pay();

        void place(Customer customer, int cents) {
            pay.charge(customer, cents);
            audit(customer, cents);
        }

        private void audit(Customer customer, int cents) {
            pay.charge(customer, cents);
        }
    }

    static final class Web {
        private final Order order = new Order();

        void handle(Customer customer, int cents, ExecutorService pool) throws Exception {
            order.place(customer, cents);
            pool.submit(() -> order.pay.charge(customer, cents)).get();
        }
    }

    static final class Job {
        private final Order order = new Order();

        void run(Customer customer, int cents) {
            order.place(customer, cents);
        }
    }

    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2, r -> {
            Thread thread = new Thread(r);
            thread.setDaemon(true);
            return thread;
        });
        Customer[] customers = {new Customer("gold"), new Customer("silver"), new Customer(null)};
        Web web = new Web();
        Job job = new Job();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            int rounds = Integer.parseInt(line);
            for (int i = 0; i < rounds; i++) {
                for (Customer customer : customers) {
                    web.handle(customer, i, pool);
                    job.run(customer, i);
                }
            }
            System.out.println("done " + rounds);
        }
    }
}
