package sonde.agent.control;

import java.lang.instrument.Instrumentation;
import java.util.List;

/** What gives classes hooks, as whoever takes them out again sees it. */
interface Weaves {
    /** From here on classes get back what they were. */
    void beginRestoring();

    /** Recognises classes that were woven while they were loaded; says how many are still to be seen. */
    int recognise(Class<?>[] loaded);

    /** Gives the classes with hooks in them that are still there. */
    List<Class<?>> alive();

    /** Is told when no class has hooks any more. */
    void unregister(Instrumentation instrumentation);
}
