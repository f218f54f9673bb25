package sonde.agent;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Map;

/**
 * Decides which files the agent acts on: those that only this user and root can have written. Used only when an
 * invitation appears or a pack is named, as it loads classes that a program may not need otherwise.
 *
 * <p>Why nobody else can exchange a file between this check and its use: directories are checked from the root down,
 * on a path without symbolic links. Each belongs to this user, to root, or to the owner of the root directory, who
 * controls every path anyway. Others cannot write to it, or it is sticky, and then they can neither rename nor remove
 * what belongs to one of these three. So once a directory is known to be safe, the entry that leads to the next one
 * cannot be changed by others any more, and the same holds for the entry of the file. The file itself has one name
 * and cannot be written by others, so a descriptor that they opened earlier gives them nothing either.
 */
final class Trust {
    private static final int TYPE = 0170000;
    private static final int DIRECTORY = 0040000;
    private static final int REGULAR = 0100000;
    private static final int STICKY = 01000;
    private static final int OTHERS_WRITE = 0022;
    private static final int ROOT = 0;
    private static final String EXPOSED = "other users could replace the code there: ";
    private static final File STATUS = new File("/proc/self/status");

    private Trust() {
    }

    /** Returns the path by which the file must be used; throws if another user could have written or replaced it. */
    static File check(File file) throws IOException {
        Path given = file.toPath().toAbsolutePath();
        Path parent = given.getParent().toRealPath(); // the system may have /tmp as a link; the file must not be one
        int self = effectiveUser();
        Path at = parent.getRoot();
        int top = owner(at);
        checkDirectory(at, self, top);
        for (Path name : parent) {
            at = at.resolve(name);
            checkDirectory(at, self, top);
        }
        at = at.resolve(given.getFileName());
        Map<String, Object> found = attributes(at);
        int owner = (Integer) found.get("uid");
        int mode = (Integer) found.get("mode");
        if ((mode & TYPE) != REGULAR || (mode & OTHERS_WRITE) != 0 || (Integer) found.get("nlink") != 1
                || owner != self && owner != ROOT) {
            throw new IOException();
        }
        return at.toFile();
    }

    /**
     * Returns the path by which a pack must be read; throws if a user could have written or replaced it who could not
     * replace the agent's jar. Both are code, so the owner of the jar is trusted, and directories that both are in are not
     * checked.
     */
    static File checkPack(File pack, File jar) throws IOException {
        if (!pack.exists() || !STATUS.exists()) {
            return pack; // it cannot be read, or the system is not Linux
        }
        Path real = pack.toPath().toRealPath();
        Path beside = jar.toPath().toRealPath();
        Path at = real.getRoot();
        int[] trusted = {effectiveUser(), ROOT, owner(at), owner(beside)};
        for (Path name : real) {
            at = at.resolve(name);
            if (!beside.startsWith(at)) {
                checkCode(at, trusted);
            }
        }
        return at.toFile();
    }

    private static void checkCode(Path path, int[] trusted) throws IOException {
        Map<String, Object> found = attributes(path);
        int owner = (Integer) found.get("uid");
        int mode = (Integer) found.get("mode");
        boolean isTrusted = false;
        for (int user : trusted) {
            isTrusted |= user == owner;
        }
        if (!isTrusted) {
            throw new IOException(EXPOSED + path + " belongs to another user");
        }
        if ((mode & OTHERS_WRITE) != 0 && ((mode & TYPE) != DIRECTORY || (mode & STICKY) == 0)) {
            throw new IOException(EXPOSED + path + " can be written by others (chmod go-w prevents this)");
        }
    }

    private static int owner(Path path) throws IOException {
        return (Integer) attributes(path).get("uid");
    }

    private static void checkDirectory(Path directory, int self, int top) throws IOException {
        Map<String, Object> found = attributes(directory);
        int owner = (Integer) found.get("uid");
        int mode = (Integer) found.get("mode");
        if ((mode & TYPE) != DIRECTORY || (mode & OTHERS_WRITE) != 0 && (mode & STICKY) == 0
                || owner != self && owner != ROOT && owner != top) {
            throw new IOException();
        }
    }

    private static Map<String, Object> attributes(Path path) throws IOException {
        return Files.readAttributes(path, "unix:uid,mode,nlink", LinkOption.NOFOLLOW_LINKS);
    }

    /** Returns the user whose files the JVM may write. The owner of /proc/self is root where memory must not be dumped. */
    private static int effectiveUser() throws IOException {
        for (String line : Note.read(STATUS).split("\n")) {
            if (line.startsWith("Uid:")) {
                return (int) Long.parseLong(line.split("\\s+")[2]); // real, effective, saved, file system
            }
        }
        throw new IOException();
    }
}
