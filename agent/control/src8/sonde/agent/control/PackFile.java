package sonde.agent.control;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;

/**
 * The part of a pack that the agent needs (docs/formats/pack.md), read into memory: a mapped file could be truncated while
 * the program runs. The front of an instance is valid; each woven class is checked when it is created.
 */
final class PackFile {
    private static final int RECORD_BYTES = 48;
    private static final long MAGIC = 0x9c0065646e6f73L;
    private static final int VERSION = 1;
    private static final String NOT_A_PACK = " is not a pack: `sonde pack` makes one";
    private static final String DAMAGED = " is damaged: make it again with `sonde pack`";

    /** From the header to the end of the dictionary; until {@link #drop} also the image of the arena. */
    private byte[] front;
    private final byte[] deltas;
    private final int index;
    private final int mask;
    private final int shift;
    private final int records;
    private final int names;
    private final int dictionary;
    private final int dictionaryBytes;

    PackFile(File file, String build) throws IOException, Refusal {
        if (!file.isFile()) { // opening something else could block
            throw new Refusal("the pack " + file + " does not exist or is not a file; give its absolute path with pack=FILE");
        }
        RandomAccessFile opened = new RandomAccessFile(file, "r");
        try {
            byte[] header = new byte[PackHeader.BYTES];
            if (opened.length() < PackHeader.BYTES) {
                throw new Refusal(file + NOT_A_PACK);
            }
            opened.readFully(header);
            front = header;
            check(file, opened.length(), build);
            byte[] all = new byte[number(PackHeader.DELTAS)];
            System.arraycopy(header, 0, all, 0, PackHeader.BYTES);
            opened.readFully(all, PackHeader.BYTES, all.length - PackHeader.BYTES);
            front = all;
            deltas = new byte[number(PackHeader.DELTAS_BYTES)];
            opened.readFully(deltas);
        } finally {
            opened.close();
        }
        if (sum(front, PackHeader.SUMMED, front.length - PackHeader.SUMMED) != number(PackHeader.FRONT_SUM)) {
            throw new Refusal(file + DAMAGED);
        }
        index = number(PackHeader.INDEX);
        mask = number(PackHeader.INDEX_SLOTS) - 1;
        shift = Integer.numberOfLeadingZeros(mask); // 32 minus the logarithm of the number of slots
        records = number(PackHeader.RECORDS);
        names = number(PackHeader.NAMES);
        dictionary = number(PackHeader.DICTIONARY);
        dictionaryBytes = number(PackHeader.DICTIONARY_BYTES);
    }

    private void check(File file, long length, String build) throws Refusal {
        long magic = number(0) & 0xffffffffL | (long) number(4) << 32;
        if ((magic & ~(0xffL << 56)) != MAGIC) {
            throw new Refusal(file + NOT_A_PACK);
        }
        if (magic >>> 56 != VERSION) {
            throw new Refusal(file + " is a pack of another version: make it again with the Sonde that this agent belongs to");
        }
        if (!build.equals(new String(front, PackHeader.BUILD, PackHeader.BUILD_BYTES, StandardCharsets.ISO_8859_1))) {
            throw new Refusal(file + " was made for another build of the agent: make it again with the Sonde that this agent belongs to");
        }
        int end = number(PackHeader.DELTAS);
        int bytes = number(PackHeader.DELTAS_BYTES);
        if (number(PackHeader.LENGTH) != length || end < PackHeader.BYTES || bytes < 0 || (long) end + bytes > length) {
            throw new Refusal(file + DAMAGED);
        }
        if ((long) end + bytes > Runtime.getRuntime().maxMemory() >> 3) {
            throw new Refusal(file + " would take more than an eighth of the heap: raise -Xmx, or pack fewer classes");
        }
    }

    /** A number of the header, or of another part of the front. */
    int number(int at) {
        byte[] f = front;
        return f[at] & 0xff | (f[at + 1] & 0xff) << 8 | (f[at + 2] & 0xff) << 16 | f[at + 3] << 24;
    }

    byte[] front() {
        return front;
    }

    /** Forgets the image of the arena. */
    void drop() {
        byte[] kept = new byte[number(PackHeader.IMAGE)];
        System.arraycopy(front, 0, kept, 0, kept.length);
        front = kept;
    }

    int count() {
        return number(PackHeader.RECORDS_COUNT);
    }

    /** The number of the first record of a name, 0 if there is none. */
    int find(String name) {
        int hash = name.hashCode();
        int slot = hash * 0x9E3779B9 >>> shift;
        for (int left = mask; left >= 0; left--) { // a full index must not block the program
            int record = number(index + 4 * slot);
            if (record == 0) {
                return 0;
            }
            int at = place(record);
            if (number(at) == hash && isText(names + number(at + 4), number(at + 8), name)) {
                return record;
            }
            slot = slot + 1 & mask;
        }
        return 0;
    }

    private int place(int record) {
        return records + (record - 1) * RECORD_BYTES;
    }

    private boolean isText(int at, int kind, String text) {
        int length = kind & 0x7fffffff;
        if (length != text.length()) {
            return false;
        }
        for (int i = 0; i < length; i++) {
            if (text.charAt(i) != unit(at, i, kind < 0)) {
                return false;
            }
        }
        return true;
    }

    private char unit(int at, int i, boolean wide) {
        return (char) (wide ? front[at + 2 * i] & 0xff | front[at + 2 * i + 1] << 8 : front[at + i] & 0xff);
    }

    /** Reads a text that follows its kind; its end is {@link #endOfText}. */
    String text(int at) {
        int kind = number(at);
        char[] units = new char[kind & 0x7fffffff];
        for (int i = 0; i < units.length; i++) {
            units[i] = unit(at + 4, i, kind < 0);
        }
        return new String(units);
    }

    int endOfText(int at) {
        int kind = number(at);
        return at + 4 + (kind & 0x7fffffff) * (kind < 0 ? 2 : 1);
    }

    /** The record of this class file among those of a name, given the first; 0 if there is none. */
    int match(int first, byte[] file) {
        int crc = 0;
        int crcC = 0;
        boolean summed = false;
        for (int record = first; record != 0; record = number(place(record) + 12)) {
            int at = place(record);
            if (number(at + 16) != file.length) {
                continue;
            }
            if (!summed) {
                CRC32 sum = new CRC32();
                sum.update(file, 0, file.length);
                crc = (int) sum.getValue();
                crcC = sum(file, 0, file.length);
                summed = true;
            }
            if (number(at + 20) == crc && number(at + 24) == crcC) {
                return record;
            }
        }
        return 0;
    }

    /** The woven class of a record, created from the original; null if its checksum is wrong. */
    byte[] weave(int record, byte[] original) {
        int at = place(record);
        byte[] woven = new byte[number(at + 28)];
        new PackDelta(deltas, number(at + 36), front, dictionary, dictionaryBytes, original).make(woven);
        return sum(woven, 0, woven.length) == number(at + 32) ? woven : null;
    }

    private static int sum(byte[] bytes, int from, int length) {
        Checksum sum = Build.IS_JAVA_8 ? new Crc32C() : new CRC32C();
        sum.update(bytes, from, length);
        return (int) sum.getValue();
    }
}
