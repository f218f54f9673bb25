import sonde.template.Template;

class Made {
    static void around() {
        if (Template.argInt(0) == 5) {
            throw new IllegalStateException("this must not reach the program");
        }
        Template.target();
        Template.add("made", 1);
    }
}
