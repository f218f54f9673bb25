import sonde.template.Template;

class Dear {
    static void around() {
        int cents = Template.argInt(1);
        Template.count("begun");
        try {
            Template.target();
        } finally {
            Template.add("dear", cents);
        }
    }
}
