package shop;

import java.util.function.Function;

public class Pay implements Gateway, Function<Integer, String> {
    private int total;

    @Override
    public boolean charge(Customer customer, int cents) {
        total += cents;
        log(cents);
        return check(customer, cents, "secret");
    }

    private boolean check(Customer who, int cents, String password) {
        if (cents > 100 && password.isEmpty()) {
            return false;
        }
        return who.getTier().equals("gold");
    }

    static void log(int cents) {
        for (int i = 0; i < cents % 3; i++) {
            System.out.print("");
        }
    }

    /** Has a bridge. */
    @Override
    public String apply(Integer cents) {
        return String.valueOf(total + cents);
    }

    public int getTotal() {
        return total;
    }

    @Override
    public void close() {
        total = 0;
    }

    native void settle(Customer customer, int cents);
}
