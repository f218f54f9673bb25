package construction.fresh;

import construction.Initialisers;
import harness.Tally;

/** Its initialiser calls out, runs another class's initialiser, and loops. */
public final class Sound implements Constants {
    public static final long VALUE;

    static {
        int id = Tally.exact(Sound.class, "<clinit>", 1, 0);
        Tally.in(id);
        long sum = Initialisers.calledFromInitialiser();
        for (int i = 0; i < 5; i++) {
            sum = step(sum, i);
        }
        VALUE = sum + Constants.MADE;
    }

    private Sound() {
    }

    private static long step(long sum, int i) {
        Tally.in(Tally.exact(Sound.class, "step", 5, 0));
        return sum * 3 + i;
    }
}
