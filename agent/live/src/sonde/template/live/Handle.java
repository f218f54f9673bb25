package sonde.template.live;

import sonde.template.Template;

/** What is woven into DirectMethodHandle.make(byte, Class, MemberName, Class): tells what the handle will call. */
final class Handle {
    private Handle() {
    }

    static void handle() {
        SondeHooks.follow(Template.arg(2));
        Template.target();
    }
}
