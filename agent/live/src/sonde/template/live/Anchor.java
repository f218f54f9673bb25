package sonde.template.live;

import sonde.template.Template;

/** What is woven around a method that is an element of a sequence of callers: it keeps the thread's path. */
final class Anchor {
    private Anchor() {
    }

    /** As in {@link Live}, an exit that finds the stack full is made up for by the next one further out. */
    static void anchor() {
        long was = SondeHooksPath.arrive(Template.methodId());
        try {
            Template.target();
        } catch (Throwable t) {
            try {
                SondeHooksPath.depart(was);
            } catch (StackOverflowError full) {
                // What was thrown goes on.
            }
            throw t;
        }
        try {
            SondeHooksPath.depart(was);
        } catch (StackOverflowError full) {
            // The method has done its work.
        }
    }
}
