package shop;

import java.util.Map;

public class Customer extends Base {
    private String tier;
    public String city;
    private boolean vip;
    private Integer age;
    public Customer friend;
    public Map<String, String> headers;

    public Customer(int level, long id, String tier, String city, boolean vip, Integer age, Customer friend, Map<String, String> headers) {
        super(level, id);
        this.tier = tier;
        this.city = city;
        this.vip = vip;
        this.age = age;
        this.friend = friend;
        this.headers = headers;
    }

    public String getTier() {
        return tier;
    }

    public boolean isVip() {
        return vip;
    }

    public Integer getAge() {
        return age;
    }

    /** Pure, with a branch and calls. */
    public int rank() {
        int r = level;
        if (vip) {
            r += 10;
        }
        return r + tierLength();
    }

    private int tierLength() {
        return tier == null ? 0 : tier.length();
    }

    /** Pure, but it fails where there is no friend. */
    public String friendsCity() {
        return friend.city;
    }

    public int counted() {
        return ++level;
    }

    public int loops() {
        int n = 0;
        for (int i = 0; i < level; i++) {
            n += i;
        }
        return n;
    }

    public synchronized int locked() {
        return level;
    }

    public String joined() {
        return tier + city;
    }

    public Object made() {
        return new Object();
    }

    public int recursive() {
        return level == 0 ? 0 : friend.recursive();
    }

    private static final Object LOCK = new Object();
    private int[] cells;

    public int caught() {
        try {
            return 7 / level;
        } catch (ArithmeticException e) {
            return 0;
        }
    }

    public int held() {
        synchronized (this) {
            return level;
        }
    }

    public int stored() {
        cells[0] = 1;
        return 1;
    }

    public boolean initialises() {
        return LOCK != null;
    }

    public native int foreign();

    public int waits() {
        while (level > 100) {
            level--;
        }
        return 1;
    }

    public int switched() {
        switch (level) {
            case 0:
                return 1;
            case 1:
                return 5;
            default:
                return 9;
        }
    }

    public int friendsRank() {
        return friend.rank() + (city.isEmpty() ? 1 : 0);
    }

    public int failing() {
        throw new IllegalStateException();
    }

    public boolean printed() {
        return city.matches("a*");
    }

    public static int total() {
        return 0;
    }

    public void nothing() {
    }
}
