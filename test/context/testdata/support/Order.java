package support;

/** What the program's methods are given. The values are those that the reference knows (data.go). */
public final class Order {
    public static final int COUNT = 12;
    public static final int TEXTS = 6;
    private static final String[] WORDS = {null, "gold", "silver", "bronze", "", "Ärger \u4e2d"};
    private static final Order[] ALL = new Order[COUNT];

    static {
        for (int i = 0; i < COUNT; i++) {
            ALL[i] = new Order(i);
        }
    }

    final int index;
    public final int amount;
    private final String tier;
    public final Customer customer;

    private Order(int index) {
        this.index = index;
        amount = index * 37 % 101;
        tier = WORDS[index % TEXTS];
        customer = index % 4 == 0 ? null : new Customer(index % 5, WORDS[(index + 1) % TEXTS]);
    }

    public String getTier() {
        return tier;
    }

    /** Somebody who orders. */
    public static final class Customer {
        public final int rank;
        public final String name;

        Customer(int rank, String name) {
            this.rank = rank;
            this.name = name;
        }
    }

    /** None, for an index past the last. */
    static Order at(int index) {
        return index < COUNT ? ALL[index] : null;
    }

    static String text(int index) {
        return WORDS[index % TEXTS];
    }

    static int indexOf(String text) {
        for (int i = 0; i < WORDS.length; i++) {
            if (WORDS[i] == text) {
                return i;
            }
        }
        throw new IllegalArgumentException(text);
    }
}
