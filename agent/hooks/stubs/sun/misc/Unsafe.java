package sun.misc;

import java.lang.reflect.Field;
import java.security.ProtectionDomain;

/** What the hooks, and who defines them, use of the class of Java 8, for the compiler; never packed. */
public final class Unsafe {
    private Unsafe() {
    }

    public static Unsafe getUnsafe() {
        throw new IllegalStateException();
    }

    public native int getInt(Object o, long offset);

    public native void putInt(Object o, long offset, int x);

    public native void putOrderedInt(Object o, long offset, int x);

    public native int getIntVolatile(Object o, long offset);

    public native boolean compareAndSwapInt(Object o, long offset, int expected, int x);

    public native void putByte(Object o, long offset, byte x);

    public native long getLong(Object o, long offset);

    public native void putLong(Object o, long offset, long x);

    public native double getDouble(Object o, long offset);

    public native void putDouble(Object o, long offset, double x);

    public native long getLongVolatile(Object o, long offset);

    public native void putOrderedLong(Object o, long offset, long x);

    public native boolean compareAndSwapLong(Object o, long offset, long expected, long x);

    public native long getAndAddLong(Object o, long offset, long delta);

    public native void park(boolean isAbsolute, long time);

    public native void unpark(Object thread);

    public native Object getObject(Object o, long offset);

    public native long objectFieldOffset(Field field);

    public native int arrayIndexScale(Class<?> c);

    public native void copyMemory(Object from, long fromOffset, Object to, long toOffset, long bytes);

    public native Class<?> defineClass(String name, byte[] b, int offset, int length, ClassLoader loader, ProtectionDomain domain);
}
