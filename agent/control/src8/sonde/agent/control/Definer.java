package sonde.agent.control;

import java.lang.instrument.Instrumentation;
import java.util.List;

/** A way to give the boot loader classes of package java.lang, where every class of every loader sees them. */
interface Definer {
    /** Defines the classes in this order. */
    void define(Instrumentation instrumentation, ClassLoader own, List<byte[]> classes, List<String> names) throws Exception;
}
