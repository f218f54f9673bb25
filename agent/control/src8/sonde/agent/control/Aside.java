package sonde.agent.control;

import java.util.concurrent.Callable;

/**
 * Runs tasks that may block on locks of the program, on a thread that is abandoned if they do. Only the work thread uses
 * it.
 */
final class Aside {
    private static final long PATIENCE_MILLIS = 2000;
    private static final long IDLE_MILLIS = 60000;
    /** If more tasks than this hang, no further task is run. */
    private static final int MOST_GIVEN_UP = 8;

    private final Threads threads;
    private final Arena arena;
    private Worker worker;
    private int givenUp;

    Aside(Threads threads, Arena arena) {
        this.threads = threads;
        this.arena = arena;
    }

    /** Returns the result of the task, or throws the reason why there is none: {@link Late} if it took too long. */
    <T> T run(Callable<T> task) throws Refusal, Late {
        if (worker == null) {
            if (givenUp >= MOST_GIVEN_UP) {
                throw new Late();
            }
            Worker fresh = new Worker();
            threads.start(fresh, "sonde-fetch"); // if no thread can be created, the next task tries again
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

    /** Lets the thread end when its task returns. */
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
                // The waiting thread abandons it.
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
                failure = Refusal.reason(t); // here, because the exception may be of a class of the program
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
