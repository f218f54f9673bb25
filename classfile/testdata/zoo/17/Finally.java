class Finally {
    static int nested(int[] a, int i) {
        try {
            try {
                return a[i] / i;
            } catch (ArithmeticException | NullPointerException e) {
                return e.hashCode();
            } finally {
                a[0]++;
            }
        } catch (ArrayIndexOutOfBoundsException e) {
            throw new IllegalStateException(e);
        } finally {
            i = 0;
        }
    }
}
