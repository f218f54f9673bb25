import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Pays orders that come on several ways, and counts what it does. */
public final class Paths {
    private static final int ROUNDS = 1000;
    private static final int TASKS = 200;
    private static final int LATE = 10;

    private static int all;
    private static int inOrder;
    private static int chosen;

    static final class Order {
        final String tier;

        Order(String tier) {
            this.tier = tier;
        }
    }

    static long web(Order order, int amount) {
        return order(order, amount);
    }

    static long batch(Order order, int amount) {
        return order(order, amount);
    }

    static long order(Order order, int amount) {
        return pay(order, amount);
    }

    static long pay(Order order, int amount) {
        if (amount % 50 == 49) {
            throw new IllegalStateException("declined");
        }
        return order.tier.length() + amount;
    }

    /** Hands orders to other threads. */
    static List<Future<Long>> webLater(ExecutorService pool, int from) {
        List<Future<Long>> all = new ArrayList<>();
        for (int i = from; i < from + TASKS / 2; i++) {
            int amount = i;
            all.add(pool.submit((Callable<Long>) () -> order(orderOf(amount), amount)));
        }
        return all;
    }

    /** Is webLater by classes that are loaded when they are first used. */
    static List<Future<Long>> webStages(ExecutorService pool, int from) {
        List<Future<Long>> all = new ArrayList<>();
        for (int i = from; i < from + TASKS / 2; i++) {
            int amount = i;
            all.add(CompletableFuture.supplyAsync(() -> orderOf(amount), pool).thenApply(made -> order(made, amount)));
        }
        return all;
    }

    /** Is called below web and nothing else. */
    static long webSoon(Order order, int amount) {
        return Late.pay(order, amount);
    }

    private static Order orderOf(int number) {
        return new Order(number % 3 == 0 ? "gold" : "silver");
    }

    private static void count(int amount, boolean isWeb) {
        all++;
        if (isWeb) {
            inOrder++;
            if (orderOf(amount).tier.equals("gold") && amount > 100) {
                chosen++;
            }
        }
    }

    private static void run() {
        for (int i = 0; i < ROUNDS; i++) {
            boolean isWeb = i % 2 == 0;
            count(i, isWeb);
            try {
                if (isWeb) {
                    web(orderOf(i), i);
                } else {
                    batch(orderOf(i), i);
                }
            } catch (IllegalStateException declined) {
                // It is counted like any other.
            }
        }
    }

    private static void hand(ExecutorService pool, boolean inStages) throws InterruptedException {
        for (int from = 0; from < TASKS; from += TASKS / 2) {
            List<Future<Long>> handed = inStages ? webStages(pool, from) : webLater(pool, from);
            for (int i = 0; i < handed.size(); i++) {
                count(from + i, true);
                try {
                    handed.get(i).get();
                } catch (ExecutionException declined) {
                    // It is counted like any other.
                }
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        ExecutorService pool = Executors.newFixedThreadPool(3);
        pool.submit(() -> web(orderOf(1), 1)); // all is loaded, but for Late
        Scanner orders = new Scanner(System.in);
        System.out.println("ready");
        while (orders.hasNextLine()) {
            all = 0;
            inOrder = 0;
            chosen = 0;
            switch (orders.nextLine()) {
                case "run":
                    run();
                    break;
                case "hand":
                    hand(pool, false);
                    break;
                case "stages":
                    hand(pool, true);
                    break;
                case "late":
                    for (int i = 0; i < LATE; i++) {
                        count(i, true);
                        webSoon(orderOf(i), i);
                    }
                    break;
                default:
                    break;
            }
            System.out.println("done " + all + " " + inOrder + " " + chosen);
        }
        pool.shutdown();
    }
}

/** Is loaded when it is first called. */
final class Late {
    private Late() {
    }

    static long pay(Paths.Order order, int amount) {
        return order.tier.length() - amount;
    }
}
