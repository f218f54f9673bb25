package sonde.template.live;

import sonde.template.Template;

/** What is woven into ThreadPoolExecutor.reject(Runnable): the task does not go elsewhere. */
final class Withdraw {
    private Withdraw() {
    }

    static void withdraw() {
        try {
            SondeHooksPool.withdraw(Template.arg(0));
        } catch (Throwable contained) {
            // It is forgotten with the task.
        }
        Template.target();
    }
}
