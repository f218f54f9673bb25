package sonde.template.live;

import sonde.template.Template;

/** What is woven around ThreadPoolExecutor.runWorker(Worker): a worker may begin with a task. */
final class Work {
    private Work() {
    }

    static void work() {
        try {
            SondeHooksPool.work(Template.arg(0));
        } catch (Throwable contained) {
            // The task goes without.
        }
        try {
            Template.target();
        } catch (Throwable t) {
            try {
                SondeHooksPool.idle();
            } catch (Throwable contained) {
                // What was thrown goes on.
            }
            throw t;
        }
        try {
            SondeHooksPool.idle();
        } catch (Throwable contained) {
            // The worker ends.
        }
    }
}
