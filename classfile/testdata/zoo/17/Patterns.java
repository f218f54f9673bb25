class Patterns {
    static int size(Object o) {
        if (o instanceof String s && !s.isEmpty()) {
            return s.length();
        }
        return o instanceof int[] a ? a.length : -1;
    }
}
