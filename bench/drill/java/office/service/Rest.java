package office.service;

/** Lets a thread rest. */
final class Rest {
    private Rest() {
    }

    static void millis(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
