package shop;

/** Two methods: no lambda is one. */
public interface Gateway {
    boolean charge(Customer customer, int cents);

    void close();
}
