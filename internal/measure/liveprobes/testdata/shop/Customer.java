package shop;

public class Customer {
    final String tier;
    private final String password;
    public int orders;

    public Customer(String tier, String password) {
        this.tier = tier;
        this.password = password;
    }

    public String getTier() {
        return tier;
    }

    public String getPassword() {
        return password;
    }

    public int count() {
        return ++orders;
    }
}
