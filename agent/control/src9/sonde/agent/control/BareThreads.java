package sonde.agent.control;

/** Creates threads that inherit no thread-local values. */
public final class BareThreads extends Threads {
    /** Called by name: Java 8 cannot load this class. */
    public BareThreads() {
    }

    @Override
    Thread make(ThreadGroup group, Runnable body, String name) {
        return new Thread(group, body, name, 0, false);
    }
}
