package sonde.agent.control;

import java.util.concurrent.Callable;

/** The platform threads that are alive. Listed by {@link Aside}, because a program can hold the locks of thread groups. */
final class LiveThreads implements Callable<Thread[]> {
    private static final int MORE = 64;

    @Override
    public Thread[] call() {
        ThreadGroup root = Thread.currentThread().getThreadGroup();
        while (root.getParent() != null) {
            root = root.getParent();
        }
        Thread[] threads = new Thread[root.activeCount() + MORE];
        int count = root.enumerate(threads, true);
        while (count == threads.length) { // there may be more
            threads = new Thread[threads.length * 2];
            count = root.enumerate(threads, true);
        }
        Thread[] live = new Thread[count];
        System.arraycopy(threads, 0, live, 0, count);
        return live;
    }
}
