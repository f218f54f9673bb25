package sonde.template.live;

import sonde.template.Template;

/** What is woven around a method that is watched where its context and its condition hold. */
final class Watch {
    private Watch() {
    }

    /** Between quiet and loud nothing the thread does is measured: the condition may call what has hooks. */
    static void watch() {
        long token = 0;
        if (SondeHooksWatch.holds(Template.methodId())) {
            long quiet = SondeHooksWatch.quiet(Template.methodId());
            int answer;
            try {
                answer = Template.condition(0);
            } catch (Throwable t) {
                answer = -1;
            }
            SondeHooksWatch.loud(quiet);
            if (answer == 1) {
                token = SondeHooksWatch.admit(Template.methodId());
            } else if (answer != 0) {
                SondeHooksWatch.unsure(Template.methodId());
            }
        }
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
