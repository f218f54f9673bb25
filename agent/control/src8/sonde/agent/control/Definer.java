package sonde.agent.control;

import java.lang.instrument.Instrumentation;
import java.util.List;

/** Defines classes of package java.lang in the boot loader, where all loaders can see them. */
interface Definer {
    /**
     * Lets the classes of a loader use the internal class of the JDK that hooks use. Other loaders stay without access.
     *
     * @return its instance, which the hooks require of who controls them
     */
    Object open(Instrumentation instrumentation, ClassLoader own) throws ReflectiveOperationException;

    /** Defines the classes in this order. */
    void define(List<byte[]> classes, List<String> names) throws ReflectiveOperationException;
}
