package sonde.template.live;

import sonde.template.Template;

/** What is woven around what tries to run a completion of a CompletableFuture, which is ready then or not. */
final class Fire {
    private Fire() {
    }

    /** Not even a full stack may keep a task from beginning as it would: whoever waits for it would wait for ever. */
    static void fire() {
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
                SondeHooksHandOff.fired(Template.self(), was);
            } catch (Throwable contained) {
                // What was thrown goes on.
            }
            throw t;
        }
        try {
            SondeHooksHandOff.fired(Template.self(), was);
        } catch (Throwable contained) {
            // The task has done its work.
        }
    }
}
