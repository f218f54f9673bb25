package shop.pricing;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.List;
import shop.cart.CartLine;
import shop.customer.Customer;
import shop.shipping.Shipping;

/** Adds up a cart: goods, discounts by all rules, shipping, and the tax contained. */
public final class Pricing {
    private static final BigDecimal TAX = new BigDecimal("0.19");

    private final List<PriceRule> rules = List.of(new QuantityDiscount(), new PremiumDiscount(),
        (line, customer) -> line.product().category().equals("garden") ? line.cents() / 20 : 0);

    public Quote quote(List<CartLine> lines, Customer customer, Shipping shipping) {
        long goods = lines.stream().mapToLong(CartLine::cents).sum();
        long discount = lines.stream().mapToLong(line -> discount(line, customer)).sum();
        long carriage = shipping.cents(lines.stream().mapToInt(CartLine::grams).sum());
        return new Quote(goods, discount, carriage, taxIn(goods - discount + carriage));
    }

    private long discount(CartLine line, Customer customer) {
        long cents = 0;
        for (PriceRule rule : rules) {
            cents += rule.discount(line, customer);
        }
        return cents;
    }

    private static long taxIn(long cents) {
        BigDecimal gross = BigDecimal.valueOf(cents);
        return gross.subtract(gross.divide(BigDecimal.ONE.add(TAX), 0, RoundingMode.HALF_UP)).longValueExact();
    }
}
