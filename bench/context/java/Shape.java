package driven;

/** A loop over calls of one method. */
public interface Shape {
    /** Makes the given number of calls; each call needs the result of the call before. */
    long run(long seed, int turns);
}
