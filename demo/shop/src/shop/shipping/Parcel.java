package shop.shipping;

/** Ordinary parcels, priced by the kilogram begun. */
class Parcel implements Shipping {
    @Override
    public long cents(int grams) {
        return 390 + 60L * ((grams + 999) / 1000);
    }
}
