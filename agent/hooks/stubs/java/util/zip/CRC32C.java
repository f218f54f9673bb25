package java.util.zip;

/** The JDK's own class, which Java 8 lacks, for the compiler; never packed. */
public final class CRC32C implements Checksum {
    @Override
    public native void update(int value);

    @Override
    public native void update(byte[] bytes, int from, int length);

    @Override
    public native long getValue();

    @Override
    public native void reset();
}
