package jdk.internal.access.foreign;

/** What the hooks use of the JDK's own interface, for the compiler; never packed. */
public interface UnmapperProxy {
    void unmap();
}
