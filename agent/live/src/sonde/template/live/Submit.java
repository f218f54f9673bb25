package sonde.template.live;

import sonde.template.Template;

/** What is woven into ThreadPoolExecutor.execute(Runnable): any object can be the task. */
final class Submit {
    private Submit() {
    }

    static void submit() {
        try {
            SondeHooksHandOff.submit(Template.arg(0));
        } catch (Throwable contained) {
            // The task goes without.
        }
        Template.target();
    }
}
