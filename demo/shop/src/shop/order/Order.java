package shop.order;

import java.time.LocalDate;

/** An order that was placed. */
public record Order(long id, int customer, LocalDate placed, long cents, String payment, String reference) {
    /** A line of an order, with the product's name. */
    public record Line(String product, int quantity, long cents) {
    }
}
