package shop.shipping;

/** A parcel that is there the next day. */
final class Express extends Parcel {
    private static final long SURCHARGE = 900;

    @Override
    public long cents(int grams) {
        return super.cents(grams) + SURCHARGE;
    }
}
