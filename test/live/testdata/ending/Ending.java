package ending;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;

/**
 * A program that ends, or whose threads do, while its methods are being called. It obeys "exit" (with 7, out of
 * a nested call), "throw" (an exception nobody catches ends main) and "interrupt N" (N threads are interrupted,
 * and stopped where the JDK still can, in the midst of their calls; it answers with how many have ended).
 */
public final class Ending {
    private static volatile long sink;

    private Ending() {
    }

    /** What gets hooks: main stays as it is, since a JVM tells no line of a frame whose method was replaced. */
    static final class Work {
        private Work() {
        }

        static long work(long x) {
            return inner(x) + inner(x + 1);
        }

        static long inner(long x) {
            return x * 31 + 7;
        }

        static void exits(int depth) {
            if (depth == 0) {
                System.exit(7);
            }
            exits(depth - 1);
        }

        static void throwsOut(int depth) {
            if (depth == 0) {
                throw new IllegalStateException("nobody catches this");
            }
            throwsOut(depth - 1);
        }

        static void lastWords() {
            System.out.println("last words " + work(1));
        }

        static void untilInterrupted() {
            long x = 1;
            while (!Thread.currentThread().isInterrupted()) {
                x = work(x);
            }
            sink = x;
        }

        static void forEver() {
            for (long x = 1;; x++) {
                sink = work(x);
            }
        }
    }

    /** Stops a thread where that is still possible, else has it end by itself. */
    @SuppressWarnings({"deprecation", "removal"})
    private static Thread stopped() {
        boolean canStop = Runtime.version().feature() < 20;
        Thread thread = new Thread(canStop ? Work::forEver : Work::untilInterrupted);
        thread.setUncaughtExceptionHandler((t, e) -> { });
        thread.start();
        for (long now = sink; canStop && sink == now;) {
            Thread.onSpinWait();
        }
        if (canStop) {
            thread.stop();
        } else {
            thread.interrupt();
        }
        return thread;
    }

    private static int interruptAll(int count) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(Work::untilInterrupted);
            thread.start();
            threads.add(thread);
            threads.add(stopped());
            thread.interrupt();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        return threads.size();
    }

    public static void main(String[] args) throws Exception {
        Runtime.getRuntime().addShutdownHook(new Thread(Work::lastWords));
        Thread busy = new Thread(Work::forEver);
        busy.setDaemon(true);
        busy.start();
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "exit" -> Work.exits(5);
                case "throw" -> Work.throwsOut(5);
                default -> System.out.println("ended " + interruptAll(Integer.parseInt(words[1])));
            }
        }
    }
}
