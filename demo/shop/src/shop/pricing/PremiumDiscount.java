package shop.pricing;

import shop.cart.CartLine;
import shop.customer.Customer;

/** Premium customers pay three percent less. */
final class PremiumDiscount implements PriceRule {
    @Override
    public long discount(CartLine line, Customer customer) {
        return customer.isPremium() ? line.cents() * 3 / 100 : 0;
    }
}
