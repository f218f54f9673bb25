package sonde.agent.control;

/** Makes the agent's threads: daemons of the system group that hold nothing of the program. */
class Threads {
    /** Where the JDK allows it, the threads of the result inherit no values either. */
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
