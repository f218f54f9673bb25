package shop;

import java.util.Map;

/** Overrides a getter, purely. */
public class Gold extends Customer {
    public Gold(int level, long id, String tier, String city, boolean vip, Integer age, Customer friend, Map<String, String> headers) {
        super(level, id, tier, city, vip, age, friend, headers);
    }

    @Override
    public boolean isVip() {
        return level >= 2;
    }
}
