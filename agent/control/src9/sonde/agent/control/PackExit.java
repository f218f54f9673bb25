package sonde.agent.control;

/**
 * Has a JVM that ends in good order leave no arena behind in which nothing is: one that started with the agent because others
 * did, and met no class of the pack. It holds the agent's loader, so it is withdrawn when the pack is taken out.
 */
final class PackExit implements Runnable {
    private final PackAccount account;
    private final PackArena file;
    private Thread thread;

    PackExit(PackAccount account, PackArena file) {
        this.account = account;
        this.file = file;
    }

    /** Asks the JVM to run it when it ends. For the agent's own thread, whose group and lack of a loader it takes over. */
    void register() {
        thread = new BareThreads().make(Thread.currentThread().getThreadGroup(), this, "sonde-exit");
        Runtime.getRuntime().addShutdownHook(thread);
    }

    void withdraw() {
        if (thread != null) {
            Runtime.getRuntime().removeShutdownHook(thread);
        }
    }

    /** Nothing is woven, so nothing needs to be muted. */
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
