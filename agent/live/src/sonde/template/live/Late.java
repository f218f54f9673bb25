package sonde.template.live;

import sonde.template.Template;

/** What is woven around a method whose calls are asked about at their exits, too. */
final class Late {
    private Late() {
    }

    /** As in {@link Watch}, what a condition calls is not measured; as there, an exit may find the stack full. */
    static void late() {
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
            if (token != 0) {
                try {
                    long elapsed = SondeHooksTrace.elapsed(token);
                    long quiet = SondeHooksWatch.quiet(Template.methodId());
                    int answer;
                    try {
                        answer = Template.condition(elapsed, 1);
                    } catch (Throwable u) {
                        answer = -1;
                    }
                    SondeHooksWatch.loud(quiet);
                    SondeHooksTrace.settle(token, Template.methodId(), answer, true);
                } catch (StackOverflowError full) {
                    // What was thrown goes on.
                }
            }
            throw t;
        }
        if (token != 0) {
            try {
                long elapsed = SondeHooksTrace.elapsed(token);
                long quiet = SondeHooksWatch.quiet(Template.methodId());
                int answer;
                try {
                    answer = Template.condition(elapsed, 1);
                } catch (Throwable u) {
                    answer = -1;
                }
                SondeHooksWatch.loud(quiet);
                SondeHooksTrace.settle(token, Template.methodId(), answer, false);
            } catch (StackOverflowError full) {
                // The call is taken off the stack with the next one further out.
            }
        }
    }
}
