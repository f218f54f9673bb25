package harness;

import java.io.PrintStream;

/**
 * One behaviour under test. A class of this kind is called Main and stands in a package of its
 * own, by whose name it is known.
 */
public interface Workload {
    /**
     * Does the same work each time, on any number of threads at once, and returns what came of
     * it: the same value each time, whatever is woven into the program.
     */
    long round() throws Exception;

    /** Starts threads that stay inside counted methods, and returns when all of them are there. */
    default void block(int threads) throws Exception {
    }

    /** Lets the threads of {@link #block} go, and returns when they have ended. */
    default void unblock() throws Exception {
    }

    /** Answers a command of its own; false where it knows no such command. */
    default boolean command(String[] words, PrintStream out) throws Exception {
        return false;
    }
}
