package construction.fresh;

import construction.Initialisers;
import harness.Tally;

/** An interface with an initialiser: it runs when its field is read. */
public interface Constants {
    long MADE = made();

    private static long made() {
        Tally.in(Tally.exact(Constants.class, "made", 1, 0));
        return Initialisers.calledFromInitialiser();
    }
}
