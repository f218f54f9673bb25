package sonde.agent.control;

/**
 * Removes an empty arena when the JVM exits normally: that of a program that was started with the agent but loaded no
 * class of the pack. It refers to the agent's loader, so it is unregistered when the pack is removed.
 */
final class PackExit implements Runnable {
    private final PackAccount account;
    private final PackArena file;
    private Thread thread;

    PackExit(PackAccount account, PackArena file) {
        this.account = account;
        this.file = file;
    }

    /** Registers it as a shutdown hook. Called by the agent's thread, whose group and missing context loader it inherits. */
    void register() {
        thread = Threads.best().make(Thread.currentThread().getThreadGroup(), this, "sonde-exit");
        Runtime.getRuntime().addShutdownHook(thread);
    }

    void withdraw() {
        if (thread != null) {
            Runtime.getRuntime().removeShutdownHook(thread);
        }
    }

    /** Nothing is woven, so the thread is not muted. */
    @Override
    public void run() {
        try {
            if (account.isEmpty()) {
                file.deleteUnnamed();
            }
        } catch (Throwable contained) {
            // The file stays.
        }
    }
}
