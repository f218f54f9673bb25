import sonde.template.Template;

/** The smallest probe, for the JDK itself. */
final class HookProbe {
    private HookProbe() {
    }

    static void probe() {
        long token = SondeHook.enter(Template.methodId());
        try {
            Template.target();
        } finally {
            SondeHook.exit(token);
        }
    }
}
