package sonde.template.live;

import sonde.template.Template;

/** What is woven into Method.invoke and Constructor.newInstanceWithCaller: tells which member is called. */
final class Reflect {
    private Reflect() {
    }

    static void reflect() {
        SondeHooks.follow(Template.self());
        Template.target();
    }
}
