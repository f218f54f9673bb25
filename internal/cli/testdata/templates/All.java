import sonde.template.Template;

class All {
    static void around() {
        Template.target();
        Template.count("all");
    }
}
