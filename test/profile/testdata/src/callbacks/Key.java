package callbacks;

import ledger.Ledger;

/** Is compared, hashed and asked for by the JDK. */
final class Key implements Comparable<Key> {
    private final int number;

    Key(int number) {
        Ledger.count("callbacks/Key.<init>(I)V");
        this.number = number;
    }

    static int twice(int x) {
        Ledger.count("callbacks/Key.twice(I)I");
        return x * 2;
    }

    static int order(Key a, Key b) {
        Ledger.count("callbacks/Key.order(Lcallbacks/Key;Lcallbacks/Key;)I");
        return Integer.compare(a.number, b.number);
    }

    long rank() {
        Ledger.count("callbacks/Key.rank()J");
        return number;
    }

    @Override
    public int compareTo(Key other) {
        Ledger.count("callbacks/Key.compareTo(Lcallbacks/Key;)I");
        return Integer.compare(number, other.number);
    }

    @Override
    public int hashCode() {
        Ledger.count("callbacks/Key.hashCode()I");
        return number;
    }

    @Override
    public boolean equals(Object other) {
        Ledger.count("callbacks/Key.equals(Ljava/lang/Object;)Z");
        return other instanceof Key && ((Key) other).number == number;
    }
}
