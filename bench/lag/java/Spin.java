/** Runs one method all the time, until its input ends. */
final class Spin {
    private static volatile long sink;

    private Spin() {
    }

    private static void spin() {
        long x = sink;
        for (int i = 0; i < 100_000; i++) {
            x = x * 6364136223846793005L + 1;
        }
        sink = x;
    }

    public static void main(String[] args) throws Exception {
        Thread spinner = new Thread(() -> {
            while (true) {
                spin();
            }
        });
        spinner.setDaemon(true);
        spinner.start();
        System.out.println("ready");
        while (System.in.read() >= 0) {
            // Nothing is asked of it.
        }
    }
}
