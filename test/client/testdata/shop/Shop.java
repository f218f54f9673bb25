package shop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/** Checks out as many carts as each line of its input says. */
public final class Shop {
    private long total;

    public static void main(String[] args) throws IOException {
        Shop shop = new Shop();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            int carts = Integer.parseInt(line);
            for (int i = 0; i < carts; i++) {
                shop.checkout(i);
            }
            System.out.println("done " + shop.total);
        }
    }

    void checkout(int cart) {
        for (int item = 0; item < 3; item++) {
            total += price(cart, item);
        }
    }

    /** Is not so small that traces leave it out. */
    long price(int cart, int item) {
        long price = cart % 7 + item;
        for (int discount = 1; discount < 4 && price > 3; discount++) {
            price = price * 9 / 10 - discount;
        }
        return Math.max(price, 1);
    }
}
