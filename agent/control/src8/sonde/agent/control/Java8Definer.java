package sonde.agent.control;

import java.lang.instrument.Instrumentation;
import java.lang.reflect.Field;
import java.util.List;
import sun.misc.Unsafe;

/** Defines classes by the Unsafe of Java 8, which has no modules. */
final class Java8Definer implements Definer {
    @Override
    public Object open(Instrumentation instrumentation, ClassLoader own) throws ReflectiveOperationException {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        return field.get(null);
    }

    @Override
    public void define(List<byte[]> classes, List<String> names) throws ReflectiveOperationException {
        Unsafe unsafe = (Unsafe) open(null, null);
        for (int i = 0; i < classes.size(); i++) {
            byte[] bytes = classes.get(i);
            unsafe.defineClass(names.get(i), bytes, 0, bytes.length, null, null);
        }
    }
}
