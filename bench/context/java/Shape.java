package driven;

/** A loop over calls of one method. */
public interface Shape {
    /** Makes so many calls, each of which needs the result of the one before. */
    long run(long seed, int turns);
}
