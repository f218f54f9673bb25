package sonde.template.builtin;

import sonde.template.Template;

/** Counts the calls of a method and adds up the time spent in it; the runtime prints both at exit. */
final class Timed {
    private Timed() {
    }

    static void timed() {
        long token = sonde.rt.Timed.enter(Template.methodId(), Template.methodName());
        try {
            Template.target();
        } finally {
            sonde.rt.Timed.exit(Template.methodId(), Template.methodName(), token);
        }
    }
}
