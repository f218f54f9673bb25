package shop;

public class Order {
    private final Gateway gateway;

    public Order(Gateway gateway) {
        this.gateway = gateway;
    }

    public boolean place(Customer customer, int cents) {
        boolean paid = gateway.charge(customer, cents);
        note(paid);
        return paid;
    }

    private void note(boolean paid) {
        if (paid) {
            Audit.write(1);
        } else {
            Audit.write(0);
        }
    }
}
