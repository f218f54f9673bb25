/**
 * Runs one method every few milliseconds, or all the time once it has read a byte, next to a thread
 * that waits in native code, until its input ends.
 */
public class Busy {
    static volatile long sink;
    static volatile boolean resting = true;

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
                for (int i = 0; i < 50; i++) {
                    call();
                }
                if (resting) {
                    java.util.concurrent.locks.LockSupport.parkNanos(10_000_000);
                }
            }
        });
        System.out.println("ready");
        while (System.in.read() >= 0) {
            resting = false;
        }
    }

    static void daemon(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
    }
}
