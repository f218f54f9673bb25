class FlexibleConstructor extends IllegalStateException {
    private final int size;

    FlexibleConstructor(String text) {
        if (text == null) {
            throw new NullPointerException("text");
        }
        int n = 0;
        for (char c : text.toCharArray()) {
            n += c;
        }
        size = n;
        super(text + n);
    }
}
