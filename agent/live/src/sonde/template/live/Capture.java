package sonde.template.live;

import sonde.template.Template;

/**
 * Is {@link Late}, with values of which a note is taken: up to four at the entry and four at a return. Their
 * numbers are 0 to 3, those at the return with 128 added; with 256 added they tell of an exception.
 */
final class Capture {
    private Capture() {
    }

    /** As in {@link Watch}, what a condition calls is not measured; as there, an exit may find the stack full. */
    static void capture() {
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
                if (SondeHooksTrace.captures(token)) {
                    quiet = SondeHooksWatch.quiet(Template.methodId());
                    try {
                        try {
                            SondeHooksTrace.capture(token, 0, Template.value(2));
                        } catch (Throwable t) {
                            SondeHooksTrace.capture(token, 256, null);
                        }
                        try {
                            SondeHooksTrace.capture(token, 1, Template.value(3));
                        } catch (Throwable t) {
                            SondeHooksTrace.capture(token, 257, null);
                        }
                        try {
                            SondeHooksTrace.capture(token, 2, Template.value(4));
                        } catch (Throwable t) {
                            SondeHooksTrace.capture(token, 258, null);
                        }
                        try {
                            SondeHooksTrace.capture(token, 3, Template.value(5));
                        } catch (Throwable t) {
                            SondeHooksTrace.capture(token, 259, null);
                        }
                    } catch (StackOverflowError full) {
                        // The method will find out by itself.
                    }
                    SondeHooksWatch.loud(quiet);
                }
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
                if (answer == 1 && SondeHooksTrace.captures(token)) {
                    try {
                        SondeHooksTrace.capture(token, 128, Template.value(6));
                    } catch (Throwable u) {
                        SondeHooksTrace.capture(token, 384, null);
                    }
                    try {
                        SondeHooksTrace.capture(token, 129, Template.value(7));
                    } catch (Throwable u) {
                        SondeHooksTrace.capture(token, 385, null);
                    }
                    try {
                        SondeHooksTrace.capture(token, 130, Template.value(8));
                    } catch (Throwable u) {
                        SondeHooksTrace.capture(token, 386, null);
                    }
                    try {
                        SondeHooksTrace.capture(token, 131, Template.value(9));
                    } catch (Throwable u) {
                        SondeHooksTrace.capture(token, 387, null);
                    }
                }
                SondeHooksWatch.loud(quiet);
                SondeHooksTrace.settle(token, Template.methodId(), answer, false);
            } catch (StackOverflowError full) {
                // The call is taken off the stack with the next one further out.
            }
        }
    }
}
