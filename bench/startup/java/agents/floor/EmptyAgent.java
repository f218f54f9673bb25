/** An agent that does nothing: what every agent costs. */
public final class EmptyAgent {
    private EmptyAgent() {
    }

    public static void premain(String argument) {
        // That there is an agent is all.
    }
}
