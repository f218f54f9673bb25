package shop.order;

import java.util.ArrayList;
import java.util.List;

/** What one customer wants to buy. */
public final class Order {
    /** A product and how many of it. */
    public static final class Line {
        public final int product;
        public final int quantity;

        Line(int product, int quantity) {
            this.product = product;
            this.quantity = quantity;
        }
    }

    private final int number;
    private final String customer;
    private final List<Line> lines = new ArrayList<>();

    public Order(int number, String customer) {
        this.number = number;
        this.customer = customer;
    }

    public void add(int product, int quantity) {
        lines.add(new Line(product, quantity));
    }

    public int number() {
        return number;
    }

    public String customer() {
        return customer;
    }

    public List<Line> lines() {
        return lines;
    }
}
