package sonde.template.live;

import sonde.template.Template;

/** What is woven around methods that run one of the JDK's tasks, once: they run in the task's context. */
final class Resume {
    private Resume() {
    }

    /** Not even a full stack may keep a task from beginning as it would: whoever waits for it would wait for ever. */
    static void resume() {
        Object was;
        try {
            was = SondeHooksHandOff.resume(Template.self());
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
