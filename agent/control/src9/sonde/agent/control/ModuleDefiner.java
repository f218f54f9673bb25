package sonde.agent.control;

import java.lang.instrument.Instrumentation;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Defines classes into java.base by the JDK's internal Unsafe. A private lookup could do the same, but parses each class
 * first by code that takes milliseconds to load. The package of Unsafe is exported to the module of the agent's loader;
 * nothing is exported to the program.
 */
public final class ModuleDefiner implements Definer {
    /** Called by name: Java 8 cannot load this class. */
    public ModuleDefiner() {
    }

    @Override
    public Object open(Instrumentation instrumentation, ClassLoader own) {
        instrumentation.redefineModule(Object.class.getModule(), Set.of(),
                Map.of("jdk.internal.misc", Set.of(own.getUnnamedModule())), Map.of(), Set.of(), Map.of());
        return BootClasses.key();
    }

    @Override
    public void define(List<byte[]> classes, List<String> names) {
        BootClasses.define(classes, names);
    }
}
