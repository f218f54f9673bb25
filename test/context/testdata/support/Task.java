package support;

/** Something that is handed over, from when it is made. */
public final class Task {
    private static int open;
    private static int made;

    final int number;
    private final Strand strand;
    private int runs;
    private int at;
    private Strand was;

    Task(Strand strand, int form) {
        this.strand = strand;
        synchronized (Task.class) {
            number = made++ << 5 | form;
            open++;
        }
    }

    /** To be called first by what runs the task, which is a frame of this method. */
    public Log begin(int method) {
        Log log = Log.mine();
        was = log.begin(number, strand);
        at = log.depth();
        log.entered(method, 0, 0, null, null, 0);
        return log;
    }

    /** To be called last. */
    public void end(Log log) {
        endRun(log);
        finish();
    }

    /** Ends one of the runs of a task that runs again and again; says whether it was the last. */
    public boolean endOne(Log log, int most) {
        endRun(log);
        if (++runs < most) {
            return false;
        }
        finish();
        return true;
    }

    private void endRun(Log log) {
        log.end(at, was);
    }

    private static void finish() {
        synchronized (Task.class) {
            if (--open == 0) {
                Task.class.notifyAll();
            }
        }
    }

    /** Waits until no task is open. */
    static void awaitAll() throws InterruptedException {
        synchronized (Task.class) {
            while (open > 0) {
                Task.class.wait();
            }
        }
    }
}
