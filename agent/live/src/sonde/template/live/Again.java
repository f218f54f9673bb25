package sonde.template.live;

import sonde.template.Template;

/** What is woven around methods that run one of the JDK's tasks, and may do so once more. */
final class Again {
    private Again() {
    }

    /** Not even a full stack may keep a task from beginning as it would: whoever waits for it would wait for ever. */
    static void again() {
        Object was;
        try {
            was = SondeHooksHandOff.again(Template.self());
        } catch (Throwable contained) {
            was = null;
        }
        try {
            Template.target();
        } catch (Throwable t) {
            try {
                SondeHooksHandOff.suspend(was);
            } catch (Throwable contained) {
                // What was thrown goes on.
            }
            throw t;
        }
        try {
            SondeHooksHandOff.suspend(was);
        } catch (Throwable contained) {
            // The task has done its work.
        }
    }
}
