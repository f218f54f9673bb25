package java.lang;

import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Turns texts of the program into the keys by which calls are grouped: it removes what differs from call to call, and
 * what may be a secret. Keys are bounded in length and in number: those without room share one.
 *
 * <p>Only keys are cached, not the texts that they are made of: a cache would keep the literals of statements in memory.
 */
final class SondeHooksTexts {
    private static final String OTHER = "(other)";

    private static final int STATEMENTS = 2048;
    private static final int PATHS = 1024;
    private static final int WINDOW = 16;
    /** The places of objects that were asked for once or never, and after them those of objects that are used again: sets of WINDOW each. */
    private static final int FRESH = 1 << 11;
    private static final int REUSED = 1 << 14;

    /** The characters of a statement that are read. */
    private static final int MOST_READ = 16384;
    /** A longer statement keeps its beginning and its end, which has the tables and conditions. */
    private static final int MOST_HEAD = 200;
    private static final int MOST_TAIL = 216;
    private static final int MOST_PATH = 160;
    /** The characters of the id of a trace, and of a traceparent of the first version. */
    private static final int TRACE_ID = 32;
    private static final int PARENT = 55;
    private static final int MOST_NAME = 100;
    /** A longer part of a path that contains a digit is an identifier or a secret, and a part that is longer still in any case. */
    private static final int LONG_PART = 20;
    private static final int LONGEST_PART = 40;

    /** Null while there are no hooks. */
    private static volatile SondeHooksTexts current;

    /** Keys are unique objects, so that comparing them takes no time. */
    private final AtomicReferenceArray<String> statements = new AtomicReferenceArray<String>(STATEMENTS);
    private final AtomicReferenceArray<String> paths = new AtomicReferenceArray<String>(PATHS);
    /** By identity, in the set of each object. A plain array: replacing an entry must not read the old one, which is in no cache. */
    private final SondeHooksKept[] objects = new SondeHooksKept[FRESH + REUSED];
    /** The hashes of the objects, so that a search reads only what it finds. */
    private final int[] hashes = new int[FRESH + REUSED];
    /** By set, the place that is used next, less whole sets: the oldest object makes room. */
    private final AtomicIntegerArray turns = new AtomicIntegerArray((FRESH + REUSED) / WINDOW);

    private SondeHooksTexts() {
    }

    /** Uses everything once, so that no hook is the first. */
    static void prepare() {
        SondeHooksTexts rehearsed = new SondeHooksTexts();
        rehearsed.keep(OTHER, unique(rehearsed.statements, foldStatement("select 'a' from \"b\".c where d in (1, 2)")));
        unique(rehearsed.paths, foldPath("/a/1"));
        trace("00-1-1-00");
        rehearsed.find(OTHER);
    }

    static void forget() {
        current = null;
    }

    /** Prepares hooks to make keys. The agent calls it, so that a hook that is late creates nothing. */
    static void begin() {
        if (current == null) {
            current = new SondeHooksTexts();
        }
    }

    static String statement(String text) {
        SondeHooksTexts texts = current;
        String key = text == null || texts == null ? null : find(texts.statements, text);
        return key != null || text == null || texts == null ? key : unique(texts.statements, foldStatement(text));
    }

    static String path(String text) {
        SondeHooksTexts texts = current;
        String key = text == null || texts == null ? null : find(texts.paths, text);
        return key != null || text == null || texts == null ? key : unique(texts.paths, foldPath(text));
    }

    static String name(String text) {
        SondeHooksTexts texts = current;
        return text == null || texts == null ? null : unique(texts.paths, text.length() <= MOST_NAME ? text : text.substring(0, MOST_NAME));
    }

    /**
     * The ids of the trace and of the calling span, with a hyphen between them, of a W3C traceparent; or the id of a trace
     * that is the whole text. Null if it is neither: nothing else of a header is kept.
     */
    static String trace(String text) {
        int length = text == null ? 0 : text.length();
        if (length == TRACE_ID) {
            return isId(text, 0, TRACE_ID) ? text : null;
        }
        if (length < PARENT || length > MOST_HEAD || text.charAt(2) != '-' || text.charAt(35) != '-' || text.charAt(52) != '-'
                || !isHex(text, 0, 2) || !isId(text, 3, 35) || !isId(text, 36, 52) || !isHex(text, 53, PARENT)) {
            return null;
        }
        // Later versions may add to it, after a hyphen. There is no version ff.
        boolean isFirst = text.startsWith("00");
        return text.startsWith("ff") || length > PARENT && (isFirst || text.charAt(PARENT) != '-') ? null : text.substring(3, 52);
    }

    private static boolean isHex(String text, int from, int to) {
        for (int i = from; i < to; i++) {
            char c = text.charAt(i);
            if (!isDigit(c) && (c < 'a' || c > 'f')) {
                return false;
            }
        }
        return true;
    }

    /** Whether a part of a text is an id: of small hexadecimal digits, not all of them 0. */
    private static boolean isId(String text, int from, int to) {
        int at = from;
        while (at < to && text.charAt(at) == '0') {
            at++;
        }
        return at < to && isHex(text, at, to);
    }

    /** Remembers the key of an object. */
    static void keepFor(Object object, String key) {
        SondeHooksTexts texts = current;
        if (object != null && key != null && texts != null) {
            texts.keep(object, key);
        }
    }

    /** The key of an object, null if it has none. */
    static String keyOf(Object object) {
        SondeHooksTexts texts = current;
        return texts == null || object == null ? null : texts.find(object);
    }

    /** The key that a text is already, because there is nothing to fold; null if it is none. */
    private static String find(AtomicReferenceArray<String> table, String text) {
        int mask = table.length() - 1;
        int home = text.hashCode() * 0x9E3779B1 >>> 16;
        for (int i = 0; i < WINDOW; i++) {
            String there = table.get(home + i & mask);
            if (there == null) {
                return null;
            }
            if (text.equals(there)) {
                return there;
            }
        }
        return null;
    }

    /** The object that represents a key. */
    private static String unique(AtomicReferenceArray<String> table, String key) {
        int mask = table.length() - 1;
        int home = key.hashCode() * 0x9E3779B1 >>> 16;
        for (int i = 0; i < WINDOW; i++) {
            int slot = home + i & mask;
            String there = table.get(slot);
            if (there == null) {
                if (table.compareAndSet(slot, null, key)) {
                    return key;
                }
                there = table.get(slot);
            }
            if (key.equals(there)) {
                return there;
            }
        }
        return OTHER;
    }

    /**
     * Remembers the key of an object among the fresh ones, unless a pool or a cache returns an object again. Fresh objects
     * are few, because the collector looks at each of them. Races are harmless: an object loses its key.
     */
    private void keep(Object object, String key) {
        int hash = SondeHooksKept.hash(object);
        int at = seek(fresh(hash), object, hash);
        at = at < 0 ? seek(reused(hash), object, hash) : at;
        if (at < 0) {
            put(fresh(hash), new SondeHooksKept(object, key));
        } else if (objects[at].text != key) {
            objects[at] = new SondeHooksKept(object, key);
        }
    }

    private String find(Object object) {
        int hash = SondeHooksKept.hash(object);
        int at = seek(fresh(hash), object, hash);
        boolean isFresh = at >= 0;
        at = isFresh ? at : seek(reused(hash), object, hash);
        SondeHooksKept found = at < 0 ? null : objects[at];
        if (found == null || found.get() != object) {
            return null;
        }
        if (isFresh && ++found.uses == 2) {
            put(reused(hash), found);
        }
        return found.text;
    }

    /** The first place of the set of a fresh object. */
    private static int fresh(int hash) {
        return (hash >>> 16) * WINDOW & FRESH - 1;
    }

    /** The first place of the set of an object that is used again. */
    private static int reused(int hash) {
        return FRESH + ((hash >>> 16) * WINDOW & REUSED - 1);
    }

    /** The place of an object in a set; negative if it has none. */
    private int seek(int set, Object object, int hash) {
        for (int at = set; at < set + WINDOW; at++) {
            if (hashes[at] == hash) {
                SondeHooksKept there = objects[at];
                if (there != null && there.get() == object) {
                    return at;
                }
            }
        }
        return -1;
    }

    /** Puts an object into a set, at the place of the oldest one, or of one that is gone if the set is that of reused objects. */
    private void put(int set, SondeHooksKept kept) {
        int turn = turns.getAndIncrement(set / WINDOW); // no other thread has the same
        for (int i = 0; set >= FRESH && i < WINDOW; i++) {
            SondeHooksKept there = objects[set + i];
            if (there == null || there.get() == null) {
                turn = i;
                break;
            }
        }
        int at = set + (turn & WINDOW - 1);
        objects[at] = kept;
        hashes[at] = kept.hash;
    }

    /**
     * Removes literals and comments from a statement, and folds lists of values and white space. Of a text that can be
     * read in two ways, all that may be part of a literal is removed.
     */
    static String foldStatement(String text) {
        int end = text.length() < MOST_READ ? text.length() : MOST_READ;
        StringBuilder out = new StringBuilder(end < 512 ? end : 512);
        boolean isCut = end < text.length();
        boolean space = false;
        int at = 0;
        while (at < end) {
            char c = text.charAt(at);
            char next = at + 1 < end ? text.charAt(at + 1) : 0;
            int from = at;
            if (c <= ' ' || Character.isWhitespace(c)) {
                at++;
            } else if (c == '-' && next == '-' || c == '#' && (at == 0 || text.charAt(at - 1) <= ' ') && next != '>' && next != '-') {
                at = after(text, "\n", at, end);
            } else if (c == '/' && next == '*') {
                at = after(text, "*/", at + 2, end);
                int inner = text.indexOf("/*", from + 2);
                if (inner >= 0 && inner < at) { // some databases nest comments, some do not
                    isCut = true;
                    at = end;
                }
            }
            if (at > from) {
                space = true;
                continue;
            }
            boolean isValue = true;
            if (c == '\'') {
                at = afterQuotes(text, at, end);
            } else if (c == '"') {
                at = afterQuotes(text, at, end);
                isValue = at < 0 || !isName(out, at < end ? text.charAt(at) : 0, space);
            } else if (c == '?' || c == '$' && isDigit(next)) { // a parameter
                at++;
                while (at < end && isDigit(text.charAt(at))) {
                    at++;
                }
            } else if (c == '$' && !isPart(last(out), space)) {
                at = afterDollars(text, at, end);
                isValue = at != from;
            } else if ((isDigit(c) || c == '.' && isDigit(next)) && !isPart(last(out), space)) {
                at = afterNumber(text, at, end);
            } else {
                isValue = false;
            }
            if (at < 0) { // nobody knows where the literal ends
                isCut = true;
                at = end;
            }
            at = at > from ? at : from + 1;
            if (isValue) {
                addValue(out, space);
            } else {
                addSpace(out, space && c != ',' && c != ')');
                out.append(text, from, at);
                if (c == ')') {
                    foldRows(out);
                }
            }
            space = false;
        }
        if (out.length() > MOST_HEAD + MOST_TAIL) {
            int tail = out.length() - MOST_TAIL;
            out.replace(out.charAt(MOST_HEAD - 1) == ' ' ? MOST_HEAD - 1 : MOST_HEAD, out.charAt(tail) == ' ' ? tail + 1 : tail, " \u2026 ");
        }
        if (isCut) {
            out.append(" \u2026");
        }
        return out.toString();
    }

    private static char last(StringBuilder out) {
        return out.length() == 0 ? 0 : out.charAt(out.length() - 1);
    }

    private static void addSpace(StringBuilder out, boolean space) {
        if (space && out.length() > 0 && last(out) != '(') {
            out.append(' ');
        }
    }

    /** Adds a value, unless it follows another one in a list. */
    private static void addValue(StringBuilder out, boolean space) {
        int length = out.length();
        if (length >= 2 && out.charAt(length - 1) == ',' && out.charAt(length - 2) == '?') {
            out.setLength(length - 1);
            return;
        }
        addSpace(out, space);
        out.append('?');
    }

    /** Makes one row of values of two: (?), (?). */
    private static void foldRows(StringBuilder out) {
        int length = out.length();
        if (length >= 7 && out.charAt(length - 2) == '?' && out.charAt(length - 3) == '(') {
            int comma = out.charAt(length - 4) == ' ' ? length - 5 : length - 4;
            if (comma >= 3 && out.charAt(comma) == ',' && out.charAt(comma - 1) == ')' && out.charAt(comma - 2) == '?' && out.charAt(comma - 3) == '(') {
                out.setLength(comma);
            }
        }
    }

    /** The place after a text, or the end. */
    private static int after(String text, String what, int from, int end) {
        int at = text.indexOf(what, from);
        return at < 0 || at + what.length() > end ? end : at + what.length();
    }

    /**
     * The place after a quoted text, in which two quotes stand for one; negative if it does not end, or if it
     * has a backslash before a quote: some databases take that for the end, some do not.
     */
    private static int afterQuotes(String text, int from, int end) {
        char quote = text.charAt(from);
        int at = from + 1;
        while (at < end) {
            char c = text.charAt(at++);
            if (c == '\\' && at < end && text.charAt(at) == quote) {
                return -1;
            }
            if (c == quote) {
                if (at >= end || text.charAt(at) != quote) {
                    return at;
                }
                at++;
            }
        }
        return -1;
    }

    /** The place after $$text$$ or $a$text$a$; negative if it does not end; the place itself if it is none. */
    private static int afterDollars(String text, int from, int end) {
        int at = from + 1;
        while (at < end && isPart(text.charAt(at), false) && text.charAt(at) != '$') {
            at++;
        }
        if (at >= end || text.charAt(at) != '$') {
            return from;
        }
        String mark = text.substring(from, at + 1);
        int close = text.indexOf(mark, at + 1);
        return close < 0 || close + mark.length() > end ? -1 : close + mark.length();
    }

    /** The place after a number such as 12, 0x1F, 1.5e-3. */
    private static int afterNumber(String text, int from, int end) {
        int at = from;
        while (at < end) {
            char c = text.charAt(at);
            boolean isSign = (c == '-' || c == '+') && at > from + 1 && (text.charAt(at - 1) | 0x20) == 'e'
                    && isDigit(text.charAt(at - 2)) && at + 1 < end && isDigit(text.charAt(at + 1));
            if (!isSign && c != '.' && !isPart(c, false)) {
                break;
            }
            at++;
        }
        return at;
    }

    private static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }

    /** Whether a character, if nothing is between, belongs to the same name as the one that follows it. */
    private static boolean isPart(char c, boolean space) {
        return !space && (c == '_' || c == '$' || c == '@' || c == ':' || Character.isLetterOrDigit(c));
    }

    /**
     * Whether text in double quotes is a name. Databases differ: it is a name if a period is next to it, or if it
     * follows a word that a name follows.
     */
    private static boolean isName(StringBuilder out, char next, boolean space) {
        if (next == '.' || last(out) == '.' && !space) {
            return true;
        }
        int end = out.length();
        int from = end;
        while (from > 0 && Character.isLetter(out.charAt(from - 1))) {
            from--;
        }
        switch (end - from) {
            case 2:
                return isWord(out, from, "as");
            case 4:
                return isWord(out, from, "from") || isWord(out, from, "join") || isWord(out, from, "into");
            case 5:
                return isWord(out, from, "table");
            case 6:
                return isWord(out, from, "update");
            default:
                return false;
        }
    }

    private static boolean isWord(StringBuilder out, int from, String word) {
        for (int i = 0; i < word.length(); i++) {
            if ((out.charAt(from + i) | 0x20) != word.charAt(i)) {
                return false;
            }
        }
        return true;
    }

    /** Removes the query of a path and the parameters of its parts, and replaces parts that identify something by {}. */
    static String foldPath(String text) {
        int end = text.length();
        for (int i = 0; i < end; i++) {
            char c = text.charAt(i);
            if (c == '?' || c == '#') {
                end = i;
            }
        }
        StringBuilder out = new StringBuilder(end < MOST_PATH ? end : MOST_PATH);
        int from = 0;
        while (from <= end) {
            int to = from;
            while (to < end && text.charAt(to) != '/') {
                to++;
            }
            int stop = from;
            while (stop < to && text.charAt(stop) != ';') {
                stop++;
            }
            if (out.length() + stop - from > MOST_PATH) {
                return out.append('\u2026').toString();
            }
            if (isIdentity(text, from, stop)) {
                out.append("{}");
            } else {
                out.append(text, from, stop);
            }
            if (to < end) {
                out.append('/');
            }
            from = to + 1;
        }
        return out.toString();
    }

    /** Whether a part of a path is a number, a UUID, an address of a person, or so long that it identifies something. */
    private static boolean isIdentity(String text, int from, int to) {
        int digits = 0;
        int hex = 0;
        int dashes = 0;
        for (int i = from; i < to; i++) {
            char c = text.charAt(i);
            if (c == '@' || c == '%' && i + 2 < to && text.charAt(i + 1) == '4' && text.charAt(i + 2) == '0') {
                return true;
            }
            digits += isDigit(c) ? 1 : 0;
            hex += isDigit(c) || (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? 1 : 0;
            dashes += c == '-' ? 1 : 0;
        }
        int length = to - from;
        return length > 0 && digits + dashes == length && digits > 0 || length >= 16 && hex + dashes == length
                || digits > 0 && length > LONG_PART || length > LONGEST_PART;
    }
}
