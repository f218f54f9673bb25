package sonde.agent.control;

/** The reason why a command is not carried out, as one line for users. */
final class Refusal extends Exception {
    private static final long serialVersionUID = 1;

    Refusal(String reason) {
        super(reason);
    }

    /** Describes an exception in one line. */
    static String reason(Throwable thrown) {
        if (thrown instanceof Refusal) {
            return thrown.getMessage();
        }
        String message = thrown.getMessage();
        String name = thrown.getClass().getName();
        return message == null ? name : name + ": " + message.replace('\n', ' ');
    }
}
