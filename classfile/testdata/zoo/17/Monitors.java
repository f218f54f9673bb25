class Monitors {
    private final Object lock = new Object();

    synchronized long nested(long value) {
        synchronized (lock) {
            synchronized (Monitors.class) {
                return value * 2;
            }
        }
    }

    static synchronized native void foreign();
}
