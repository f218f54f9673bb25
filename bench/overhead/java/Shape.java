package overhead;

/** A way for methods to call each other, in a loop that is not woven. */
public interface Shape {
    /** How many methods of the shape one turn of its loop calls. */
    int calls();

    /** Runs so many turns, each of which needs the result of the one before. */
    long run(long seed, int turns);
}
