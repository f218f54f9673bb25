package shop;

/** Loads late. */
public class Mock implements Gateway {
    @Override
    public boolean charge(Customer customer, int cents) {
        Audit.write(cents);
        return true;
    }

    @Override
    public void close() {
        Audit.write(2);
    }
}
