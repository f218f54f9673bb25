package sonde.template.live;

import sonde.template.Template;

/** What is woven into constructors of the JDK's tasks: a task carries the context it is made in. */
final class Carry {
    private Carry() {
    }

    static void carry() {
        Template.target();
        try {
            SondeHooksHandOff.carry(Template.self());
        } catch (Throwable contained) {
            // The task goes without.
        }
    }
}
