import sonde.template.Template;

class Pay {
    static void around() {
        int cents = Template.argInt(1);
        Template.tag("tenant", (String) Template.arg(2));
        int sum = 0;
        for (int i = 0; i < 3; i++) {
            sum += cents;
        }
        try {
            Template.target();
        } catch (IllegalArgumentException e) {
            Template.event("refusals", e.getClass().getName() + " " + cents % 10);
            throw new IllegalStateException("this must not reach the program");
        } finally {
            Template.count("calls");
        }
        Template.count("orders");
        Template.add("thrice", sum);
        Template.histogram("cents", cents > 50 ? cents : Template.resultInt() - cents);
        if (cents == 7) {
            Template.self().hashCode();
        }
    }
}
