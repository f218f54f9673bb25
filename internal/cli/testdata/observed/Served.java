package observed;

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

/** Takes requests from a queue, without end, and does one of two things for each. */
public final class Served {
    private final BlockingQueue<Integer> requests = new ArrayBlockingQueue<>(8);
    private final Object lock = new Object();
    private volatile long salt = 1442695040888963407L;
    private long answers;

    public static void main(String[] args) throws Exception {
        Served served = new Served();
        start(served::serve, "server");
        start(served::send, "sender");
        System.out.println("ready");
        while (System.in.read() >= 0) {
            // Whatever is typed, only the end counts.
        }
        System.exit(0);
    }

    private static void start(Runnable work, String name) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
    }

    /** Never ends. */
    private void serve() {
        try {
            while (true) {
                Integer request = requests.poll(1, TimeUnit.SECONDS);
                if (request != null) {
                    handle(request);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Never ends, and waits most of the time. */
    private void send() {
        try {
            for (int i = 0; true; i++) {
                requests.put(i);
                Thread.sleep(1); // so that the machine has time for others
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    void handle(int request) {
        long found = request % 3 == 0 ? search(request) : sort(request);
        synchronized (lock) {
            answers += found;
        }
    }

    long search(int request) {
        long sum = 0;
        for (int i = 0; i < 1_500; i++) {
            sum += step(request + i);
        }
        return sum;
    }

    long sort(int request) {
        long sum = 0;
        for (int i = 0; i < 800; i++) {
            sum ^= step(request - i);
        }
        return sum;
    }

    /** Called so often that no probe in it would do. */
    private long step(int seed) {
        long value = seed;
        for (int i = 0; i < 300; i++) {
            value = value * 6364136223846793005L + salt; // volatile: no compiler makes one step of many
        }
        return value;
    }
}
