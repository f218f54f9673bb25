package app;

import sonde.template.Template;

/** Templates with conditions. */
final class Templates {
    private Templates() {
    }

    static void entry() {
        int answer;
        try {
            answer = Template.condition(0);
        } catch (Throwable t) {
            answer = 2;
        }
        Recorder.answer(answer);
        Template.target();
    }

    /** With variables of its own around the condition, something on the stack, and a join right behind. */
    static void odd() {
        long token = 7;
        double weight = 0.5;
        String name = "x";
        try {
            Recorder.answer(Recorder.on ? 9 : Template.condition(0));
            weight += token + Math.max(3, Template.condition(0));
        } catch (Throwable t) {
            Recorder.answer(2);
        }
        Template.target();
        Recorder.add(name.length() + weight);
    }

    /** Asks at the exit, whichever it is. */
    static void exit() {
        long start = Recorder.clock();
        try {
            Template.target();
        } catch (Throwable t) {
            int answer;
            try {
                answer = Template.condition(Recorder.clock() - start, 0);
            } catch (Throwable u) {
                answer = 2;
            }
            Recorder.answer(answer);
            throw t;
        }
        int answer;
        try {
            answer = Template.condition(Recorder.clock() - start, 0);
        } catch (Throwable u) {
            answer = 2;
        }
        Recorder.answer(answer);
    }

    static void value() {
        String text;
        try {
            text = Template.value(0);
        } catch (Throwable t) {
            text = "thrown";
        }
        Recorder.text(text);
        Template.target();
    }

    static void plain() {
        Template.target();
    }
}
