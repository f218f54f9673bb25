package support;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;

/** Methods and constructors for calls by reflection. */
public final class Mirror {
    private static final Class<?>[] ARGUMENTS = {int.class, int.class, Order.class, String.class};

    private Mirror() {
    }

    public static Method method(Class<?> owner, String name) {
        try {
            return owner.getDeclaredMethod(name, ARGUMENTS);
        } catch (NoSuchMethodException e) {
            throw new IllegalStateException(e);
        }
    }

    public static Constructor<?> constructor(Class<?> owner) {
        try {
            return owner.getDeclaredConstructor(ARGUMENTS);
        } catch (NoSuchMethodException e) {
            throw new IllegalStateException(e);
        }
    }

    public static MethodHandle handle(Class<?> owner, String name) {
        try {
            return MethodHandles.lookup().unreflect(method(owner, name));
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }
}
