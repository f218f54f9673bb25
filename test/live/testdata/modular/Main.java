package modular;

import harness.Tally;
import harness.Workload;

/** Counted methods in a package that its module does not export. */
public final class Main implements Workload {
    static final int STATIC = Tally.exact(Main.class, "staticInModule", 10, 0);
    static final int VIRTUAL = Tally.exact(Main.class, "virtualInModule", 10, 5);

    static long staticInModule(long x) {
        Tally.in(STATIC);
        return x * 3;
    }

    long virtualInModule(long x) {
        Tally.in(VIRTUAL);
        if (x % 2 == 0) {
            throw Tally.out(VIRTUAL, new IllegalStateException("even"));
        }
        return x + 1;
    }

    @Override
    public long round() {
        if (!Main.class.getModule().isNamed()) {
            throw new IllegalStateException("not in a named module");
        }
        long sum = 0;
        for (int i = 0; i < 10; i++) {
            sum += staticInModule(i);
            try {
                sum += virtualInModule(i);
            } catch (IllegalStateException e) {
                sum += 7;
            }
        }
        return sum;
    }
}
