package paths;

final class Basket {
    private Basket() {
    }

    static long total(int items, int seed) {
        long sum = 0;
        for (int i = 0; i < items; i++) {
            sum += Pricing.tax(seed + i);
        }
        return sum;
    }
}
