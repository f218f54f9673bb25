package shop.pricing;

/** What a cart costs, in cents; the tax is contained in the total. */
public record Quote(long goods, long discount, long shipping, long tax) {
    public long total() {
        return goods - discount + shipping;
    }
}
