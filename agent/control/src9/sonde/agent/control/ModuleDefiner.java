package sonde.agent.control;

import java.lang.instrument.Instrumentation;
import java.lang.invoke.MethodHandles;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Defines classes into java.base by a private lookup. For it, package java.lang is opened to the module of the
 * agent's own loader; to the program nothing is opened that was not.
 */
public final class ModuleDefiner implements Definer {
    /** Called by name: Java 8 cannot load this class. */
    public ModuleDefiner() {
    }

    @Override
    public void define(Instrumentation instrumentation, ClassLoader own, List<byte[]> classes, List<String> names)
            throws IllegalAccessException {
        instrumentation.redefineModule(Object.class.getModule(), Set.of(), Map.of(),
                Map.of("java.lang", Set.of(own.getUnnamedModule())), Set.of(), Map.of());
        MethodHandles.Lookup lookup = MethodHandles.privateLookupIn(Object.class, MethodHandles.lookup());
        for (byte[] bytes : classes) {
            lookup.defineClass(bytes);
        }
    }
}
