class Constructors extends Exception {
    final long a;
    final String b;
    static final int[] TABLE;
    static final double FIXED = 1.5;
    static final String TEXT = "constant";

    static {
        TABLE = new int[] {1, 2, 3};
    }

    { b = "initialised"; }

    Constructors(boolean flag, long a) {
        super(flag ? "yes" : new String("no"), flag ? null : new Throwable());
        this.a = a;
    }

    Constructors() {
        this(true, 42L);
    }
}
