package truth;

/** A few methods whose time is measured. */
public interface Case {
    /** Calls the methods the given number of times, each call needing the one before unless the case says otherwise. */
    long root(long seed, int calls);

    /** How many parts can be run alone; the first is all that the root does. */
    default int parts() {
        return 1;
    }

    /** Runs one part of what the root does, as often, without the root. */
    long part(int part, long seed, int calls);
}
