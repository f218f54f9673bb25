import sonde.template.Template;

/** Counts calls in an array. */
class FloorCount {
    static void count() {
        Floor.COUNTS[Template.methodId() & 0xffff]++;
        Template.target();
    }
}
