package harness;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.CountDownLatch;

/**
 * Runs a fixture on some threads until its input ends, and takes orders by line:
 *
 * <pre>
 * forget   turns are counted from zero; then "done"
 * times    "way WAY TURNS NANOS" for each way, then "end"
 * move N   the fixture does something else from now on; then "done"
 * </pre>
 *
 * With -Dwalk.look=true it takes one turn, on one thread, prints "stack WAY CALLS LEAF|FRAMES" for each stack by
 * which a hot method was reached, and ends.
 */
public final class Harness {
    /**
     * What a program does: a turn takes a millisecond or less and goes all of its ways. It must be shorter than a thread
     * is let run at a time on a busy machine, or it would be stopped in the same places again and again.
     */
    public interface Fixture {
        /** Its result is used, so that no work can be left out. */
        long turn();

        /** Has further turns do something else. */
        default void move(int where) {
            throw new UnsupportedOperationException("it does not move");
        }

        default Thread thread(Runnable work) {
            return new Thread(work, "worker");
        }
    }

    /** Turns each thread takes before the program is said to be ready: by then it is compiled. */
    private static final int WARM = Way.LOOKING ? 1 : 500;

    private Harness() {
    }

    /** Arguments: the class of the fixture, and on how many threads it runs. */
    public static void main(String[] args) throws Exception {
        Fixture fixture = Class.forName(args[0]).asSubclass(Fixture.class).getDeclaredConstructor().newInstance();
        int threads = Way.LOOKING ? 1 : Integer.parseInt(args[1]);
        CountDownLatch warm = new CountDownLatch(threads);
        for (int i = 0; i < threads; i++) {
            Thread thread = fixture.thread(new Worker(fixture, warm));
            thread.setDaemon(true);
            thread.start();
        }
        warm.await();
        if (Way.LOOKING) {
            Way.tellStacks(System.out);
            System.exit(0);
        }
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            obey(fixture, line.split(" "));
        }
        System.out.println("did " + Worker.sum);
        System.exit(0);
    }

    private static void obey(Fixture fixture, String[] words) {
        switch (words[0]) {
            case "forget":
                Way.forget();
                System.out.println("done");
                break;
            case "times":
                Way.tellTimes(System.out);
                System.out.println("end");
                break;
            case "move":
                fixture.move(Integer.parseInt(words[1]));
                System.out.println("done");
                break;
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    /** A thread's work. */
    private static final class Worker implements Runnable {
        private static volatile long sum;

        private final Fixture fixture;
        private final CountDownLatch warm;

        Worker(Fixture fixture, CountDownLatch warm) {
            this.fixture = fixture;
            this.warm = warm;
        }

        @Override
        public void run() {
            try {
                work();
            } catch (Throwable e) {
                e.printStackTrace();
                Runtime.getRuntime().halt(1);
            }
        }

        private void work() {
            for (int turn = 1; !Way.LOOKING || turn == 1; turn++) {
                sum += fixture.turn();
                if (turn == WARM) {
                    warm.countDown();
                }
            }
        }
    }
}
