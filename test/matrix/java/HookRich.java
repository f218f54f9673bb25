import sonde.template.Template;

/**
 * Locals of every kind across the target, loops, catch and finally, for the JDK itself. It boxes nothing:
 * Integer.valueOf is woven too, and called while the class that it needs is being initialised.
 */
final class HookRich {
    private HookRich() {
    }

    static void rich() {
        long token = SondeHook.enter(Template.methodId());
        int parameters = 0;
        double weight = 0.5;
        for (int i = 0; i < Template.argCount(); i++) {
            parameters += i;
            weight *= 2;
        }
        String name = Template.methodName();
        boolean returned = false;
        try {
            Template.target();
            returned = true;
        } catch (RuntimeException e) {
            SondeHook.threw(name, e, parameters);
            throw e;
        } finally {
            Throwable thrown = Template.thrown();
            int rounds = 0;
            do {
                rounds++;
                if (thrown != null && rounds > 1) {
                    break;
                }
            } while (rounds < 3);
            SondeHook.left(token, Template.self(), weight, returned, rounds);
        }
    }
}
