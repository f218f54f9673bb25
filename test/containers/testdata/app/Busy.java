package app;

/** Works until its input ends. */
public final class Busy {
    private static long sum;

    public static void main(String[] args) throws Exception {
        Thread worker = new Thread(Busy::work);
        worker.setDaemon(true);
        worker.start();
        System.out.println("ready");
        while (System.in.read() >= 0) {
        }
    }

    private static void work() {
        while (true) {
            round();
        }
    }

    static void round() {
        for (int i = 0; i < 1000; i++) {
            step(i);
        }
    }

    static void step(int i) {
        for (int j = 0; j < 100; j++) {
            sum += (i ^ j) * sum;
        }
    }
}
