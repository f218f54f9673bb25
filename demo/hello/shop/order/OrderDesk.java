package shop.order;

import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;
import shop.pricing.PriceBook;
import shop.stock.OutOfStock;
import shop.stock.Warehouse;

/** Reserves stock for an order, prices it and writes the receipt. */
public final class OrderDesk {
    private final PriceBook prices;
    private final Warehouse warehouse;
    private final CRC32 receipts = new CRC32();

    public OrderDesk(PriceBook prices, Warehouse warehouse) {
        this.prices = prices;
        this.warehouse = warehouse;
    }

    /** Answers the price in cents, or throws when a product has run out. */
    public long process(Order order) throws OutOfStock {
        reserve(order);
        long cents = total(order);
        file(receipt(order, cents));
        return cents;
    }

    public long checksum() {
        return receipts.getValue();
    }

    private void reserve(Order order) throws OutOfStock {
        int taken = 0;
        try {
            for (Order.Line line : order.lines()) {
                warehouse.take(line.product, line.quantity);
                taken++;
            }
        } finally {
            if (taken < order.lines().size()) {
                putBack(order, taken);
            }
        }
    }

    private void putBack(Order order, int lines) {
        for (Order.Line line : order.lines().subList(0, lines)) {
            warehouse.putBack(line.product, line.quantity);
        }
    }

    private long total(Order order) {
        long cents = 0;
        for (Order.Line line : order.lines()) {
            cents += prices.price(line.product, line.quantity);
        }
        return cents - prices.discount(order.customer(), cents);
    }

    private String receipt(Order order, long cents) {
        StringBuilder text = new StringBuilder();
        text.append(order.number()).append(' ').append(order.customer()).append('\n');
        for (Order.Line line : order.lines()) {
            text.append(String.format("%5d x %03d%n", line.quantity, line.product));
        }
        return text.append("total ").append(cents).append('\n').toString();
    }

    private void file(String receipt) {
        receipts.update(receipt.getBytes(StandardCharsets.UTF_8));
    }
}
