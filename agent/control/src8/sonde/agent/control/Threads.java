package sonde.agent.control;

/** Creates the agent's threads: daemons of the system group without references to the program. */
class Threads {
    /** If the JDK allows it, the threads inherit no thread-local values. */
    static Threads best() {
        try {
            return (Threads) Class.forName("sonde.agent.control.BareThreads").newInstance();
        } catch (Throwable older) {
            return new Threads();
        }
    }

    final Thread start(Runnable body, String name) {
        ThreadGroup group = Thread.currentThread().getThreadGroup();
        while (group.getParent() != null) {
            group = group.getParent();
        }
        Thread thread = make(group, body, name);
        thread.setDaemon(true);
        thread.setContextClassLoader(null);
        thread.start();
        return thread;
    }

    Thread make(ThreadGroup group, Runnable body, String name) {
        return new Thread(group, body, name);
    }
}
