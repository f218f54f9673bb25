package exceptions;

import ledger.Ledger;

/** Exceptions that the JVM throws by itself, and one that a method swaps for another. */
final class Origins {
    private Origins() {
    }

    static long all() {
        Ledger.Call call = Ledger.in("exceptions/Origins.all()J");
        long sum = 0;
        Object[] values = {null, "text", new int[0]};
        for (Object value : values) {
            try {
                sum += length(value);
            } catch (RuntimeException e) {
                sum += 10;
            }
        }
        try {
            sum += swapped(0);
        } catch (IllegalStateException e) {
            sum += e.getCause() instanceof ArithmeticException ? 100 : 0;
        }
        return Ledger.out(call, sum);
    }

    private static long length(Object value) {
        Ledger.Call call = Ledger.in("exceptions/Origins.length(Ljava/lang/Object;)J");
        try {
            return Ledger.out(call, value.hashCode() == 0 ? 0 : ((String) value).length());
        } catch (NullPointerException | ClassCastException e) {
            throw Ledger.threw(call, e);
        }
    }

    private static long swapped(int zero) {
        Ledger.Call call = Ledger.in("exceptions/Origins.swapped(I)J");
        try {
            return Ledger.out(call, divided(zero));
        } catch (ArithmeticException e) {
            throw Ledger.threw(call, new IllegalStateException(e));
        }
    }

    private static long divided(int zero) {
        Ledger.Call call = Ledger.in("exceptions/Origins.divided(I)J");
        try {
            return Ledger.out(call, 5 / zero);
        } catch (ArithmeticException e) {
            throw Ledger.threw(call, e);
        }
    }
}
