/** Runs one method all the time, next to a thread that waits in native code, until its input ends. */
public class Busy {
    static volatile long sink;

    static void burn() {
        long x = sink;
        for (int i = 0; i < 100_000; i++) {
            x = x * 6364136223846793005L + sink;
        }
        sink = x;
    }

    static void call() {
        burn();
    }

    public static void main(String[] args) throws Exception {
        daemon("acceptor", () -> {
            try {
                new java.net.ServerSocket(0).accept();
            } catch (java.io.IOException e) {
                throw new IllegalStateException(e);
            }
        });
        daemon("burner", () -> {
            while (true) {
                call();
            }
        });
        System.out.println("ready");
        while (System.in.read() >= 0) {
        }
    }

    static void daemon(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
    }
}
