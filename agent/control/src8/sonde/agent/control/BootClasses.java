package sonde.agent.control;

import java.util.List;
import jdk.internal.misc.Unsafe;

/** Defines classes of the boot loader by what the JDK does it by itself: to be used when that is shown to this loader. */
final class BootClasses {
    private BootClasses() {
    }

    static void define(List<byte[]> classes, List<String> names) {
        Unsafe unsafe = Unsafe.getUnsafe();
        for (int i = 0; i < classes.size(); i++) {
            byte[] bytes = classes.get(i);
            unsafe.defineClass(names.get(i), bytes, 0, bytes.length, null, null);
        }
    }
}
