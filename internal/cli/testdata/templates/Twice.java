import sonde.template.Template;

class Twice {
    static void around() {
        long four = templates.Payments.twice(2); // this template is around it, too
        Template.target();
        Template.add("doubled", Template.resultLong() + four - 4);
    }
}
