package sonde.agent.control;

/** Why a command is not carried out, in a line for a human. */
final class Refusal extends Exception {
    private static final long serialVersionUID = 1;

    Refusal(String reason) {
        super(reason);
    }

    /** One line of whatever was thrown. */
    static String reason(Throwable thrown) {
        if (thrown instanceof Refusal) {
            return thrown.getMessage();
        }
        String message = thrown.getMessage();
        String name = thrown.getClass().getName();
        return message == null ? name : name + ": " + message.replace('\n', ' ');
    }
}
