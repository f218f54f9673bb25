package deep;

final class Jobs {
    private static final int DEEP = 100;

    private Jobs() {
    }

    static long nightly() {
        return Descent.descend(DEEP, 60);
    }

    static long hourly() {
        return Descent.descend(DEEP, 40);
    }
}
