package sonde.agent.control;

import java.util.zip.Checksum;

/** The checksum CRC-32C, which Java 8 lacks. */
final class Crc32C implements Checksum {
    /** The polynomial 0x1EDC6F41, reversed. */
    private static final int POLYNOMIAL = 0x82F63B78;
    private static final int[] TABLE = table();

    private int sum = -1;

    private static int[] table() {
        int[] table = new int[256];
        for (int i = 0; i < table.length; i++) {
            int value = i;
            for (int bit = 0; bit < 8; bit++) {
                value = value >>> 1 ^ POLYNOMIAL & -(value & 1);
            }
            table[i] = value;
        }
        return table;
    }

    @Override
    public void update(int value) {
        sum = sum >>> 8 ^ TABLE[(sum ^ value) & 0xff];
    }

    @Override
    public void update(byte[] bytes, int from, int length) {
        for (int i = from; i < from + length; i++) {
            update(bytes[i]);
        }
    }

    @Override
    public long getValue() {
        return ~sum & 0xffffffffL;
    }

    @Override
    public void reset() {
        sum = -1;
    }
}
