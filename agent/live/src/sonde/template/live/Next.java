package sonde.template.live;

import sonde.template.Template;

/** What is woven around ThreadPoolExecutor.getTask(): a worker is done with one task, and gets the next. */
final class Next {
    private Next() {
    }

    static void next() {
        try {
            SondeHooksPool.idle();
        } catch (Throwable contained) {
            // It stays in the context of the last one.
        }
        Template.target();
        try {
            SondeHooksPool.take(Template.result());
        } catch (Throwable contained) {
            // The task goes without.
        }
    }
}
