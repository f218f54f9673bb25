import sonde.template.Template;

/** Counts calls by calling context. */
class FloorTree {
    static void tree() {
        Floor.Node entered = Floor.enter(Template.methodId());
        try {
            Template.target();
        } finally {
            Floor.exit(entered);
        }
    }
}
