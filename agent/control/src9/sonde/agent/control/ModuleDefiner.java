package sonde.agent.control;

import java.lang.instrument.Instrumentation;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Defines classes into java.base by the JDK's own Unsafe: a private lookup could, too, but reads each class before by
 * code that takes a JVM milliseconds to begin with. For it, that package is shown to the module of the agent's own
 * loader; to the program nothing is shown that was not.
 */
public final class ModuleDefiner implements Definer {
    /** Called by name: Java 8 cannot load this class. */
    public ModuleDefiner() {
    }

    @Override
    public void define(Instrumentation instrumentation, ClassLoader own, List<byte[]> classes, List<String> names) {
        instrumentation.redefineModule(Object.class.getModule(), Set.of(),
                Map.of("jdk.internal.misc", Set.of(own.getUnnamedModule())), Map.of(), Set.of(), Map.of());
        BootClasses.define(classes, names);
    }
}
