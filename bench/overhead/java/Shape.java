package overhead;

/** A way for methods to call each other, in a loop that is not woven. */
public interface Shape {
    /** How many methods of the shape one turn of its loop calls. */
    int calls();

    /** Runs the given number of turns; each turn needs the result of the turn before. */
    long run(long seed, int turns);
}
