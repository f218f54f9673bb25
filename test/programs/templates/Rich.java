package fixture;

import sonde.template.Template;

/** A template that uses what templates may: locals of every type across the target, loops, catch and finally. */
final class Rich {
    private Rich() {
    }

    static void rich() {
        long token = RichRuntime.enter(Template.methodId());
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
            RichRuntime.returned(name, Template.result());
        } catch (RuntimeException e) {
            RichRuntime.threw(name, e, parameters);
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
            RichRuntime.left(token, Template.self(), weight, returned, rounds);
        }
    }
}
