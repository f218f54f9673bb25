import sonde.template.Template;

/** The template that does just what the ASM side weaves: two calls with an id, and a catch-all. */
final class EnterExit {
    private EnterExit() {}

    static void around() {
        Hooks.enter(Template.methodId());
        try {
            Template.target();
        } finally {
            Hooks.exit(Template.methodId());
        }
    }
}
