package calls;

import harness.Tally;

/** Synchronized methods and blocks; a monitor must be free again however its method ends. */
final class Guarded {
    static final int STATIC = Tally.exact(Guarded.class, "staticSynchronized", 10, 0);
    static final int INSTANCE = Tally.exact(Guarded.class, "synchronizedTwice", 20, 0);
    static final int THROWING = Tally.exact(Guarded.class, "throwsWhileHolding", 10, 10);
    static final int BLOCK = Tally.exact(Guarded.class, "throwsInBlock", 10, 10);
    private static long all;
    private long own;

    static synchronized long staticSynchronized(long x) {
        Tally.in(STATIC);
        all += x;
        return x;
    }

    synchronized long synchronizedTwice(int again) {
        Tally.in(INSTANCE);
        own++;
        return again == 0 ? own : synchronizedTwice(again - 1);
    }

    synchronized void throwsWhileHolding() {
        Tally.in(THROWING);
        throw Tally.out(THROWING, new IllegalStateException("held"));
    }

    void throwsInBlock(Object lock) {
        Tally.in(BLOCK);
        synchronized (lock) {
            synchronized (this) {
                throw Tally.out(BLOCK, new IllegalStateException("held"));
            }
        }
    }

    static long work() {
        Guarded guarded = new Guarded();
        Object lock = new Object();
        long sum = 0;
        for (int i = 0; i < 10; i++) {
            sum += staticSynchronized(i) + guarded.synchronizedTwice(1);
            try {
                guarded.throwsWhileHolding();
            } catch (IllegalStateException e) {
                sum += Thread.holdsLock(guarded) ? 1000 : 1;
            }
            try {
                guarded.throwsInBlock(lock);
            } catch (IllegalStateException e) {
                sum += Thread.holdsLock(guarded) || Thread.holdsLock(lock) ? 1000 : 1;
            }
        }
        return sum;
    }
}
