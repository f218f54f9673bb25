package sonde.agent;

/**
 * The options after {@code -javaagent:agent.jar=}: {@code pack=FILE}, {@code arena=FILE}, {@code only=GLOB},
 * {@code not=GLOB}, {@code hold} or {@code hold=SECONDS}, {@code by=PID}, with commas between them.
 */
final class Arguments {
    private static final int MOST_GLOBS = 64;

    /** The file of a pack; null if there is none. */
    String pack;
    /** The file of its measurements; null if it is not specified. */
    String arena;
    /** {@code hold} or {@code hold=SECONDS}; null if the program is not held. */
    String hold;
    /** The PID of the process that holds the program; null if the program is held regardless of it. */
    String by;
    /** The invalid part; null if all are valid. */
    String unknown;
    private final String[] only = new String[MOST_GLOBS];
    private final String[] not = new String[MOST_GLOBS];

    Arguments(String text) {
        int from = 0;
        while (from <= text.length()) {
            int comma = text.indexOf(',', from);
            int end = comma < 0 ? text.length() : comma;
            if (end > from) {
                read(text.substring(from, end));
            }
            from = end + 1;
        }
        if (arena != null && pack == null && unknown == null) {
            unknown = "arena=FILE without pack=FILE";
        }
    }

    private void read(String argument) {
        int equals = argument.indexOf('=');
        String key = equals < 0 ? argument : argument.substring(0, equals);
        String value = argument.substring(equals + 1);
        if (key.equals("hold")) {
            hold = argument;
        } else if (equals < 0 || value.isEmpty()) {
            unknown = argument;
        } else if (key.equals("pack")) {
            pack = value;
        } else if (key.equals("arena")) {
            arena = value;
        } else if (key.equals("by")) {
            by = value;
        } else if (!(key.equals("only") && add(only, value) || key.equals("not") && add(not, value))) {
            unknown = argument;
        }
    }

    private static boolean add(String[] globs, String glob) {
        for (int i = 0; i < globs.length; i++) {
            if (globs[i] == null) {
                globs[i] = glob;
                return true;
            }
        }
        return false;
    }

    /**
     * Whether the filters select a program, by its command: the first word is the main class or the path of a jar,
     * whose base name is sufficient.
     */
    boolean mean(String command) {
        String word = command == null ? "" : command;
        int blank = word.indexOf(' ');
        word = blank < 0 ? word : word.substring(0, blank);
        String base = word.substring(word.lastIndexOf('/') + 1);
        return (only[0] == null || matches(only, word, base)) && !matches(not, word, base);
    }

    private static boolean matches(String[] globs, String word, String base) {
        for (int i = 0; i < globs.length && globs[i] != null; i++) {
            if (matches(globs[i], word) || matches(globs[i], base)) {
                return true;
            }
        }
        return false;
    }

    /** A star matches any characters, as few as possible. */
    private static boolean matches(String glob, String text) {
        int at = 0;
        int in = 0;
        int star = -1;
        int tried = 0;
        while (in < text.length()) {
            if (at < glob.length() && glob.charAt(at) == '*') {
                star = at++;
                tried = in;
            } else if (at < glob.length() && glob.charAt(at) == text.charAt(in)) {
                at++;
                in++;
            } else if (star >= 0) {
                at = star + 1;
                in = ++tried;
            } else {
                return false;
            }
        }
        while (at < glob.length() && glob.charAt(at) == '*') {
            at++;
        }
        return at == glob.length();
    }
}
