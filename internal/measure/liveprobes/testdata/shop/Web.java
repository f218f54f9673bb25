package shop;

public class Web {
    public boolean handle(Customer customer, int cents) {
        return new Order(new Pay()).place(customer, cents);
    }

    public void idle() {
    }
}
