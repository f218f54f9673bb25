package sonde.agent.control;

/** The classes that Sonde wants to see when they load. */
final class Watch {
    static final Watch NOTHING = new Watch(new String[0], new String[0], new String[0]);

    private final String[] prefixes;
    private final String[] suffixes;
    private final String[] excludes;

    private Watch(String[] prefixes, String[] suffixes, String[] excludes) {
        this.prefixes = prefixes;
        this.suffixes = suffixes;
        this.excludes = excludes;
    }

    static Watch read(Received command) throws BadFrame {
        int count = command.count(8);
        String[] prefixes = new String[count];
        String[] suffixes = new String[count];
        for (int i = 0; i < count; i++) {
            prefixes[i] = command.string();
            suffixes[i] = command.string();
        }
        String[] excludes = new String[command.count(4)];
        for (int i = 0; i < excludes.length; i++) {
            excludes[i] = command.string();
        }
        return new Watch(prefixes, suffixes, excludes);
    }

    /**
     * An internal name matches if it has the prefix and the suffix of a filter, without overlap, and no excluded
     * prefix; a $ counts as a /, because a filter does not know where nesting begins.
     */
    boolean matches(String name) {
        for (int i = 0; i < prefixes.length; i++) {
            int end = name.length() - suffixes[i].length();
            if (end >= prefixes[i].length() && isAt(name, 0, prefixes[i]) && isAt(name, end, suffixes[i])) {
                return !isExcluded(name);
            }
        }
        return false;
    }

    private boolean isExcluded(String name) {
        for (String exclude : excludes) {
            if (exclude.length() <= name.length() && isAt(name, 0, exclude)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isAt(String name, int start, String part) {
        for (int i = 0; i < part.length(); i++) {
            char c = name.charAt(start + i);
            if ((c == '$' ? '/' : c) != part.charAt(i)) {
                return false;
            }
        }
        return true;
    }
}
