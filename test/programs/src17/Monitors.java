/** Monitors: synchronized methods and blocks, nested, left by exceptions, wait and notify; all released. */
public final class Monitors {
    final Object first = new Object();
    final Object second = new Object();
    static boolean ready;
    int turn;
    final StringBuilder log = new StringBuilder();

    public static void main(String[] args) throws Exception {
        Monitors m = new Monitors();
        System.out.println(m.instance(3) + " " + statics(4) + " " + Thread.holdsLock(m) + Thread.holdsLock(Monitors.class));
        System.out.println(m.nested(2));
        m.leftByException(true);
        m.leftByException(false);
        System.out.println("held after: " + Thread.holdsLock(m.first) + Thread.holdsLock(m.second) + Thread.holdsLock(m));
        System.out.println(m.returnInside(1) + m.returnInside(2));
        m.pingPong();
        handOver();
        nullMonitor();
        notOwner();
        System.out.println(freeForOthers(m.first) && freeForOthers(m.second) && freeForOthers(m) && freeForOthers(Monitors.class));
    }

    synchronized int instance(int n) {
        return n == 0 ? 0 : (Thread.holdsLock(this) ? 1 : 100) + instance(n - 1);
    }

    static synchronized long statics(long n) {
        return Thread.holdsLock(Monitors.class) ? n * 2 : -1;
    }

    String nested(int depth) {
        synchronized (first) {
            synchronized (second) {
                synchronized (first) {
                    if (depth > 0) {
                        return "(" + nested(depth - 1) + ")";
                    }
                    return "" + Thread.holdsLock(first) + Thread.holdsLock(second);
                }
            }
        }
    }

    void leftByException(boolean inner) {
        try {
            synchronized (first) {
                synchronizedThrower(inner);
                synchronized (second) {
                    throw new IllegalStateException("outer");
                }
            }
        } catch (IllegalStateException e) {
            System.out.println("left by " + e.getMessage() + " at " + e.getStackTrace()[0]);
        }
    }

    synchronized void synchronizedThrower(boolean really) {
        if (really) {
            throw new IllegalStateException("synchronized method");
        }
    }

    String returnInside(int n) {
        for (int i = 0;; i++) {
            synchronized (first) {
                try {
                    synchronized (second) {
                        if (i == n) {
                            return "r" + i;
                        }
                        continue;
                    }
                } finally {
                    log.append(i);
                }
            }
        }
    }

    void pingPong() throws InterruptedException {
        StringBuilder turns = new StringBuilder();
        Thread[] players = new Thread[2];
        for (int p = 0; p < 2; p++) {
            int mine = p;
            players[p] = new Thread(() -> {
                for (int i = 0; i < 5; i++) {
                    synchronized (this) {
                        while (turn != mine) {
                            await();
                        }
                        turns.append(mine == 0 ? "ping " : "pong ");
                        turn = 1 - turn;
                        notifyAll();
                    }
                }
            });
            players[p].start();
        }
        for (Thread player : players) {
            player.join();
        }
        System.out.println(turns.toString().trim());
    }

    private synchronized void await() {
        try {
            wait();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void handOver() throws InterruptedException {
        Thread waiter = new Thread(() -> {
            synchronized (Monitors.class) {
                while (!ready) {
                    try {
                        Monitors.class.wait();
                    } catch (InterruptedException e) {
                        return;
                    }
                }
                System.out.println("handed over");
            }
        });
        waiter.start();
        makeReady();
        waiter.join();
    }

    static synchronized void makeReady() {
        ready = true;
        Monitors.class.notify();
    }

    static void nullMonitor() {
        Object none = null;
        try {
            synchronized (none) {
                System.out.println("unreachable");
            }
        } catch (NullPointerException e) {
            System.out.println("null monitor line " + e.getStackTrace()[0].getLineNumber());
        }
    }

    static void notOwner() {
        try {
            new Object().notify();
        } catch (IllegalMonitorStateException e) {
            System.out.println("not owner: " + e.getMessage());
        }
    }

    static boolean freeForOthers(Object monitor) throws InterruptedException {
        Thread other = new Thread(() -> {
            synchronized (monitor) {
                monitor.notifyAll();
            }
        });
        other.start();
        other.join();
        return true;
    }
}
