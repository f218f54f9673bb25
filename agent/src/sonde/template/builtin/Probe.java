package sonde.template.builtin;

import sonde.template.Template;

/** The smallest template: calls the runtime at the entry and at every exit of a method. */
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
