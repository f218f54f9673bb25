package shop;

import java.util.Random;
import shop.order.Order;
import shop.order.OrderDesk;
import shop.pricing.PriceBook;
import shop.stock.OutOfStock;
import shop.stock.Warehouse;

/**
 * Takes the number of orders to process and prints what became of them. The same number gives the
 * same output every time, so that a run of the instrumented program can be compared with a plain
 * one.
 */
public final class Main {
    private static final int PRODUCTS = 200;

    private Main() {}

    public static void main(String[] args) {
        int orders = args.length > 0 ? Integer.parseInt(args[0]) : 20_000;
        OrderDesk desk = new OrderDesk(new PriceBook(PRODUCTS), new Warehouse(PRODUCTS, orders / 15));
        Random random = new Random(42);
        long cents = 0;
        int refused = 0;
        for (int i = 0; i < orders; i++) {
            Order order = randomOrder(i, random);
            try {
                cents += desk.process(order);
            } catch (OutOfStock e) {
                refused++;
            }
        }
        System.out.printf("%d orders, %d refused, %d.%02d earned, checksum %08x%n",
                orders, refused, cents / 100, cents % 100, desk.checksum());
    }

    private static Order randomOrder(int number, Random random) {
        Order order = new Order(number, "customer-" + random.nextInt(500));
        int lines = 1 + random.nextInt(8);
        for (int i = 0; i < lines; i++) {
            order.add(random.nextInt(PRODUCTS), 1 + random.nextInt(5));
        }
        return order;
    }
}
