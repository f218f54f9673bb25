package sonde.agent.control;

import java.lang.instrument.Instrumentation;
import java.util.List;

/** Defines classes of package java.lang in the boot loader, where all loaders can see them. */
interface Definer {
    /** Defines the classes in this order. */
    void define(Instrumentation instrumentation, ClassLoader own, List<byte[]> classes, List<String> names) throws Exception;
}
