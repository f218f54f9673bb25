import sonde.template.Template;

class Sold {
    static void around() {
        try {
            Template.target();
        } catch (Throwable t) {
            Template.event("refused", t.getClass().getName());
            throw t;
        }
        Template.count("sold");
    }
}
