package load;

import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Walks through the shop again and again, as a new customer each time; the seed decides everything. */
final class Shopper implements Runnable {
    private static final String[] CATEGORIES = {"kitchen", "garden", "office", "travel", "sports"};
    private static final String[] WORDS = {"kettle", "steel", "bag", "light", "ten", "bench"};
    private static final String[] SHIPPINGS = {"parcel", "express", "pickup"};
    private static final Pattern ORDER_ID = Pattern.compile("\"id\":(\\d+)");
    private static final String CARD = "4000001234567899";
    private static final int CUSTOMERS = 200;
    private static final int PRODUCTS = 400;
    private static final int THINKING_MILLIS = 5;
    private static final int LIMIT_MILLIS = 30_000;

    private final String shop;
    private final Random random;
    private final Tally tally;
    private final CountDownLatch closed;

    /** What the shop said. */
    private record Answer(int status, String body) {
    }

    Shopper(String shop, long seed, Tally tally, CountDownLatch closed) {
        this.shop = shop;
        this.random = new Random(seed);
        this.tally = tally;
        this.closed = closed;
    }

    @Override
    public void run() {
        try {
            while (closed.getCount() > 0) {
                visit(anyone());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Every fourth customer is premium, and they shop more than others. */
    private int anyone() {
        int customer = 1 + random.nextInt(CUSTOMERS);
        return random.nextInt(3) == 0 ? (customer + 3) / 4 * 4 : customer;
    }

    private void visit(int customer) throws InterruptedException {
        ask("browse", "GET", "?category=" + pick(CATEGORIES), 200);
        ask("search", "GET", "search?q=" + pick(WORDS), 200);
        int products = 1 + random.nextInt(3);
        for (int i = 0; i < products; i++) {
            int product = 1 + random.nextInt(PRODUCTS);
            ask("product", "GET", "product?id=" + product, 200);
            ask("cart", "POST", "cart?customer=" + customer + "&product=" + product + "&quantity="
                + (1 + random.nextInt(2)), 200);
        }
        String order = checkOut(customer);
        ask("orders", "GET", "orders?customer=" + customer, 200);
        if (order != null) {
            ask("invoice", "GET", "invoice?order=" + order, 200);
        }
    }

    /** Answers the number of the order, or null where there is none: two shoppers may be the same customer. */
    private String checkOut(int customer) throws InterruptedException {
        String payment = random.nextBoolean() ? "card" : "invoice";
        String tier = customer % 4 == 0 ? "premium" : "regular";
        Answer answer = ask("checkout, " + tier + ", " + payment, "POST", "checkout?customer=" + customer + "&payment="
            + payment + "&shipping=" + pick(SHIPPINGS) + "&account=" + CARD, 201, 400, 402, 409);
        Matcher id = ORDER_ID.matcher(answer.body());
        return answer.status() == 201 && id.find() ? id.group(1) : null;
    }

    private String pick(String[] choices) {
        return choices[random.nextInt(choices.length)];
    }

    private Answer ask(String kind, String method, String path, int... expected) throws InterruptedException {
        closed.await(THINKING_MILLIS, TimeUnit.MILLISECONDS);
        try {
            long millis = System.currentTimeMillis();
            long start = System.nanoTime();
            Answer answer = exchange(method, path);
            tally.add(kind, millis, System.nanoTime() - start);
            for (int status : expected) {
                if (status == answer.status()) {
                    return answer;
                }
            }
            fail(method + " /" + path + " was answered " + answer.status() + " " + answer.body().strip());
            return answer;
        } catch (IOException e) {
            fail(method + " /" + path + ": " + e);
            return new Answer(0, "");
        }
    }

    /** Ends all shopping: a broken shop is not worth more load. A shop that closes with this program is not broken. */
    private void fail(String what) {
        if (closed.getCount() > 0) {
            tally.fail(what);
            closed.countDown();
        }
    }

    private Answer exchange(String method, String path) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) new URL(shop + path).openConnection();
        connection.setRequestMethod(method);
        connection.setConnectTimeout(LIMIT_MILLIS);
        connection.setReadTimeout(LIMIT_MILLIS);
        int status = connection.getResponseCode();
        try (InputStream body = status < 400 ? connection.getInputStream() : connection.getErrorStream()) {
            return new Answer(status, new String(body.readAllBytes(), StandardCharsets.UTF_8));
        }
    }
}
