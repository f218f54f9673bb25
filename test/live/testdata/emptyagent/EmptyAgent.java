package emptyagent;

/** An agent that does nothing, to see what a JVM keeps of any agent. */
public final class EmptyAgent {
    private EmptyAgent() {
    }

    /** Called at each attach. */
    public static void agentmain(String unused) {
    }
}
