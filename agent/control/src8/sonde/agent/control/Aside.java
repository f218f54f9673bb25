package sonde.agent.control;

import java.util.concurrent.Callable;

/**
 * Runs what may hang on the program's own locks, on a thread that is given up when it does. Used by the work
 * thread alone.
 */
final class Aside {
    private static final long PATIENCE_MILLIS = 2000;
    private static final long IDLE_MILLIS = 60000;
    /** A program in which more than this hang is not asked again. */
    private static final int MOST_GIVEN_UP = 8;

    private final Threads threads;
    private final Arena arena;
    private Worker worker;
    private int givenUp;

    Aside(Threads threads, Arena arena) {
        this.threads = threads;
        this.arena = arena;
    }

    /** Gives the task's result, or throws why there is none: {@link Late} where it took too long. */
    <T> T run(Callable<T> task) throws Refusal, Late {
        if (worker == null) {
            if (givenUp >= MOST_GIVEN_UP) {
                throw new Late();
            }
            Worker fresh = new Worker();
            threads.start(fresh, "sonde-fetch"); // where no thread can be made, the next question tries again
            worker = fresh;
        }
        Outcome<T> outcome = new Outcome<T>(task);
        worker.give(outcome);
        if (!outcome.await(new Deadline(PATIENCE_MILLIS))) {
            end();
            givenUp++;
            throw new Late();
        }
        return outcome.get();
    }

    /** Lets the thread end, when it comes back. */
    void end() {
        if (worker != null) {
            worker.give(null);
            worker = null;
        }
    }

    /** It took too long. */
    static final class Late extends Exception {
        private static final long serialVersionUID = 1;

        Late() {
            super("it did not answer in time");
        }
    }

    private final class Worker implements Runnable {
        private Outcome<?> next;
        private boolean ended;

        synchronized void give(Outcome<?> task) {
            next = task;
            ended = task == null;
            notifyAll();
        }

        private synchronized Outcome<?> take() throws InterruptedException {
            while (next == null && !ended) {
                wait(IDLE_MILLIS);
            }
            Outcome<?> taken = next;
            next = null;
            return taken;
        }

        @Override
        public void run() {
            try {
                Arena.Muting muting = arena.new Muting();
                for (Outcome<?> task = take(); task != null; task = take()) {
                    muting.renew();
                    task.run();
                }
            } catch (Throwable contained) {
                // Who waits for it gives it up.
            }
        }
    }

    private static final class Outcome<T> {
        private final Callable<T> task;
        private T result;
        private String failed;
        private boolean done;

        Outcome(Callable<T> task) {
            this.task = task;
        }

        void run() {
            T value = null;
            String failure = null;
            try {
                value = task.call();
            } catch (Throwable t) {
                failure = Refusal.reason(t); // asked here: what is thrown may be the program's own
            }
            synchronized (this) {
                result = value;
                failed = failure;
                done = true;
                notifyAll();
            }
        }

        synchronized boolean await(Deadline deadline) {
            while (!done && !deadline.over()) {
                deadline.await(this);
            }
            return done;
        }

        synchronized T get() throws Refusal {
            if (failed != null) {
                throw new Refusal(failed);
            }
            return result;
        }
    }
}
