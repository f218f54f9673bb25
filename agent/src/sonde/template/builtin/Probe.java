package sonde.template.builtin;

import sonde.template.Template;

/** The smallest template: tells the runtime that a method was entered and that it was left, however it ends. */
final class Probe {
    private Probe() {
    }

    static void probe() {
        long token = sonde.rt.Probe.enter(Template.methodId());
        try {
            Template.target();
        } finally {
            sonde.rt.Probe.exit(token);
        }
    }
}
