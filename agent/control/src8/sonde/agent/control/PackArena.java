package sonde.agent.control;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * The file with the measurements of a pack. It is created in a private directory, and gets its name when it is complete:
 * users who can write to its final directory, such as /tmp, cannot open it before its permissions are set.
 */
final class PackArena {
    private static final int MOST_EPOCH = 0x7ffff;
    private static final int RANDOM_BYTES = 16;
    private static final int MOST_NAMES = 100;
    private static final int MOST_MAPS = 64 << 20;
    private static final String REMEDY = "give a path with arena=FILE where the user of this JVM can write and the disk has space";
    private static final byte[] ZEROS = new byte[64 << 10];

    private final PackFile pack;
    private final String pid;
    private final long started;
    private final byte[] random = new byte[RANDOM_BYTES];
    /** Stays open, so that more of it can be allocated. */
    private RandomAccessFile opened;
    private File file;
    private boolean isUnnamed;
    /** The file was missing at the last check, and need not be checked again. */
    private volatile boolean isOutOfSight;
    private int epoch;
    private long limit;

    PackArena(PackFile pack) throws IOException {
        this.pack = pack;
        String stat = new String(read("/proc/self/stat", new byte[1024]), StandardCharsets.ISO_8859_1);
        pid = stat.substring(0, stat.indexOf(' '));
        started = field(stat, stat.lastIndexOf(')') + 2, 22 - 3);
        read("/dev/urandom", random);
    }

    private static byte[] read(String path, byte[] into) throws IOException {
        InputStream in = new FileInputStream(path);
        try {
            in.read(into); // such files return everything in one read
        } finally {
            in.close();
        }
        return into;
    }

    private static long field(String stat, int from, int skipped) {
        int at = from;
        for (int i = 0; i < skipped; i++) {
            at = stat.indexOf(' ', at) + 1;
        }
        return Long.parseLong(stat.substring(at, stat.indexOf(' ', at)));
    }

    /** Makes the file. */
    void make(String wanted, String command) throws Refusal {
        if (ByteOrder.nativeOrder() != ByteOrder.LITTLE_ENDIAN) {
            throw new Refusal("packs need a little-endian processor");
        }
        File place = place(wanted);
        File room = new File(place.getParentFile(), ".sonde_arena" + pid + "-" + randomText());
        File made = new File(room, "arena");
        boolean whole = false;
        try {
            if (!room.mkdir() || !narrow(room, true) || room.list().length != 0 || !made.createNewFile() || !narrow(made, false)) {
                throw new Refusal("no file can be created in " + place.getParent() + "; " + REMEDY);
            }
            opened = new RandomAccessFile(made, "rw");
            epoch = 1 + (random[0] & 0xff | (random[1] & 0xff) << 8 | (random[2] & 7) << 16) % MOST_EPOCH;
            write(command);
            if (!place.createNewFile()) {
                throw new Refusal(place + " already exists and is not overwritten; use %p in the name, which stands for the process number");
            }
            if (!made.renameTo(place)) {
                place.delete();
                throw new Refusal(place + " cannot be created; " + REMEDY);
            }
            file = place;
            isUnnamed = wanted == null;
            whole = true;
        } catch (IOException e) {
            throw new Refusal(place + " cannot be created (" + e.getMessage() + "); " + REMEDY);
        } finally {
            if (!whole) {
                close();
                made.delete();
            }
            room.delete();
        }
    }

    /** Passes the arena to the hooks, which are off. */
    Hooks open() throws IOException {
        return Hooks.open(opened, pack.number(PackHeader.ARENA_LENGTH), epoch, file);
    }

    String path() {
        return file.getPath();
    }

    /**
     * Whether the file was removed, so that other processes can neither read it nor request the end. A process that has
     * lost access to the directory cannot see it either; the list of mappings, which is read once, is then decisive.
     */
    boolean isRemoved() throws IOException {
        if (file.exists()) {
            isOutOfSight = false;
        } else if (!isOutOfSight) {
            isOutOfSight = true;
            String maps = new String(Build.readAll(new FileInputStream("/proc/self/maps"), MOST_MAPS), StandardCharsets.UTF_8);
            return maps.contains("/" + file.getName() + " (deleted)\n");
        }
        return false;
    }

    /** Deletes the file, unless its path was specified. */
    void deleteUnnamed() {
        if (isUnnamed) {
            isOutOfSight = true; // no further check is needed
            file.delete();
        }
    }

    /** Removes everything after a failure. */
    void abandon() {
        close();
        if (file != null) {
            file.delete();
        }
    }

    /** The path of the file: as specified, in the specified directory, or in /tmp. */
    private File place(String wanted) throws Refusal {
        if (wanted == null) {
            return new File("/tmp/sonde-" + pid + "-" + randomText() + ".arena");
        }
        if (wanted.indexOf('\n') >= 0) {
            throw new Refusal("the arena's name has a line break");
        }
        File place = new File(wanted.replace("%p", pid)).getAbsoluteFile();
        if (!place.isDirectory()) {
            return place;
        }
        File inside = new File(place, "sonde-" + pid + ".arena");
        for (int i = 2; inside.exists() && i < MOST_NAMES; i++) { // of earlier processes with the same PID
            inside = new File(place, "sonde-" + pid + "-" + i + ".arena");
        }
        return inside;
    }

    private String randomText() {
        StringBuilder text = new StringBuilder();
        for (int i = 3; i < RANDOM_BYTES; i++) {
            text.append(Character.forDigit(random[i] >> 4 & 15, 16)).append(Character.forDigit(random[i] & 15, 16));
        }
        return text.toString();
    }

    /** Restricts access to this user; false if that fails, as for files of other users. */
    private static boolean narrow(File file, boolean isDirectory) {
        return file.setReadable(false, false) & file.setWritable(false, false) & file.setExecutable(false, false)
                & file.setReadable(true, true) & file.setWritable(true, true) & (!isDirectory || file.setExecutable(true, true));
    }

    /** Writes the current values into the image, and allocates the first part for the hooks. */
    private void write(String command) throws IOException {
        byte[] front = pack.front();
        int image = pack.number(PackHeader.IMAGE);
        int bytes = pack.number(PackHeader.IMAGE_BYTES);
        put(front, image + pack.number(PackHeader.AT_EPOCH), 4, epoch);
        put(front, image + pack.number(PackHeader.AT_TARGET_PID), 4, Long.parseLong(pid));
        put(front, image + pack.number(PackHeader.AT_TARGET_START), 8, started);
        put(front, image + pack.number(PackHeader.AT_OPENED_WALL), 8, System.currentTimeMillis() * 1000000);
        byte[] text = command.getBytes(StandardCharsets.UTF_8);
        int textLength = Math.min(text.length, pack.number(PackHeader.COMMAND_MOST));
        put(front, image + pack.number(PackHeader.AT_COMMAND_LENGTH), 4, textLength);
        System.arraycopy(text, 0, front, image + pack.number(PackHeader.AT_COMMAND), textLength);
        opened.setLength(pack.number(PackHeader.ARENA_LENGTH));
        opened.write(front, image, bytes);
        limit = pack.number(PackHeader.ARENA_LIMIT);
        zero(bytes, limit);
    }

    private static void put(byte[] into, int at, int bytes, long number) {
        for (int i = 0; i < bytes; i++) {
            into[at + i] = (byte) (number >>> 8 * i);
        }
    }

    private void zero(long from, long to) throws IOException {
        opened.seek(from);
        for (long at = from; at < to; at += ZEROS.length) {
            opened.write(ZEROS, 0, (int) Math.min(ZEROS.length, to - at));
        }
    }

    /** Allocates more if little is left; returns whether it did. Only the thread that unmaps the arena calls it. */
    boolean grow(Hooks hooks) throws IOException {
        long length = pack.number(PackHeader.ARENA_LENGTH);
        long used = hooks.get(pack.number(PackHeader.AT_NEXT));
        long spare = Math.max(1 << 20, used >> 1);
        if (used == 0 || limit >= length || limit - used >= spare >> 1) {
            return false;
        }
        long raised = Math.min(length, used + spare + 4095 & ~4095L);
        zero(limit, raised);
        limit = raised;
        hooks.put(pack.number(PackHeader.AT_LIMIT), limit);
        return true;
    }

    void close() {
        try {
            if (opened != null) {
                opened.close();
            }
        } catch (IOException contained) {
            // It is not used any more.
        }
    }
}
