package app;

import java.util.List;
import java.util.Map;
import shop.Order;

/** The class whose methods have conditions. */
public class Subject extends shop.Base {
    private int own;
    private String label;
    private Inner inner;
    Local local;

    public Subject(int level, long id, int own, String label, Inner inner, Local local) {
        super(level, id);
        this.own = own;
        this.label = label;
        this.inner = inner;
        this.local = local;
    }

    private int twice() {
        return own * 2;
    }

    private static int count;

    // one method:
    public Object call(Order order, int number, String text, long big, double ratio, List<String> list, Map<String, Integer> map,
            int[] array, Object any, boolean flag, char letter, float part) {
        count++;
        return null;
    }
    // that was it

    public static int half(int n) {
        if (n < 0) {
            throw new IllegalArgumentException("negative");
        }
        int was = n;
        n /= 2;
        return was - was + n;
    }

    public static String name(String s) {
        if ("bad".equals(s)) {
            throw new IllegalStateException(s);
        }
        return s == null ? null : s + "!";
    }

    public long wide(long a, double b) {
        for (int i = 0; i < 3; i++) {
            a += i;
        }
        return a;
    }

    static void noArguments() {
    }

    static boolean isGood(int n) {
        return n > 0;
    }

    int self() {
        return own;
    }

    static class Inner {
        private long hidden;
        private Inner next;

        Inner(long hidden, Inner next) {
            this.hidden = hidden;
            this.next = next;
        }

        private boolean deep() {
            return next != null;
        }
    }
}
