package sonde.agent.control;

import java.lang.instrument.Instrumentation;
import java.util.List;

/** A weaver, as seen by the code that removes its hooks. */
interface Weaves {
    /** From here on, classes get their original bytes. */
    void beginRestoring();

    /** Finds classes that were woven while they loaded; returns how many are still missing. */
    int recognise(Class<?>[] loaded);

    /** Returns the loaded classes with hooks. */
    List<Class<?>> alive();

    /** Called when no class has hooks any more. */
    void unregister(Instrumentation instrumentation);
}
