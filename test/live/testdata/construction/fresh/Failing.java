package construction.fresh;

import harness.Tally;

/** Its initialiser throws: the first use fails by that, later ones because the class is unusable. */
public final class Failing {
    static int touched;

    static {
        int id = Tally.exact(Failing.class, "<clinit>", 1, 1);
        Tally.in(id);
        if (touched == 0) {
            throw Tally.out(id, new IllegalStateException("initialiser"));
        }
    }

    private Failing() {
    }

    /** Never runs. */
    public static void touch() {
        Tally.in(Tally.exact(Failing.class, "touch", 0, 0));
        touched++;
    }
}
