package sonde.template.live;

import sonde.template.Template;

/** What is woven around a method at which a tag of the transaction gets a value. */
final class Tag {
    private Tag() {
    }

    /** Between tagging and tag nothing the thread does is measured: the value may call what has hooks. */
    static void tag() {
        long mark = SondeHooksTags.tagging(Template.methodId());
        Object outer = null;
        if (mark != 0) {
            String value;
            try {
                value = Template.value(0);
            } catch (Throwable t) {
                value = null;
            }
            outer = SondeHooksTags.tag(mark, Template.methodId(), value);
        }
        try {
            Template.target();
        } catch (Throwable t) {
            try {
                SondeHooksTags.untag(mark, outer);
            } catch (StackOverflowError full) {
                // What was thrown goes on.
            }
            throw t;
        }
        try {
            SondeHooksTags.untag(mark, outer);
        } catch (StackOverflowError full) {
            // The method has done its work.
        }
    }
}
