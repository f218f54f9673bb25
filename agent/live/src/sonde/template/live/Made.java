package sonde.template.live;

import sonde.template.Template;

/** What is woven into a method of the JDK that makes what runs elsewhere: it carries the context it is made in. */
final class Made {
    private Made() {
    }

    static void made() {
        Template.target();
        try {
            SondeHooksHandOff.carry(Template.result());
        } catch (Throwable contained) {
            // It goes without.
        }
    }
}
