package sonde.template.live;

import sonde.template.Template;

/** What is woven around a method that is watched wherever it is called, whatever its values are. */
final class Plain {
    private Plain() {
    }

    /** Is {@link Watch#watch} without a condition: a third of the code, which a JVM that starts has to read and compile. */
    static void plain() {
        long token = SondeHooksWatch.enter(Template.methodId());
        try {
            Template.target();
        } catch (Throwable t) {
            try {
                SondeHooksWatch.fail(token, Template.methodId());
            } catch (StackOverflowError full) {
                // What was thrown goes on.
            }
            throw t;
        }
        try {
            SondeHooksWatch.exit(token);
        } catch (StackOverflowError full) {
            // The call is taken off the stack with the next one further out.
        }
    }
}
