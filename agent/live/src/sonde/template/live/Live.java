package sonde.template.live;

import sonde.template.Template;

/** What is woven around a method of a running JVM. It can be compiled, and linked, beside the hooks only. */
final class Live {
    private Live() {
    }

    /**
     * The exit stands outside the block: were it to fail, it would not be told a second time. It does fail where
     * the stack has no room left for it; the method has done its work then, so its caller must not hear of it.
     */
    static void live() {
        long token = SondeHooks.enter(Template.methodId());
        try {
            Template.target();
        } catch (Throwable t) {
            try {
                SondeHooks.fail(token, Template.methodId());
            } catch (StackOverflowError full) {
                // What was thrown goes on.
            }
            throw t;
        }
        try {
            SondeHooks.exit(token);
        } catch (StackOverflowError full) {
            // The call is taken off the stack with the next one further out.
        }
    }
}
