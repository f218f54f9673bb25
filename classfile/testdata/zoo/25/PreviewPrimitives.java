class PreviewPrimitives {
    static String of(long value) {
        return switch (value) {
            case 0L -> "zero";
            case byte b -> "byte " + b;
            case int i when i > 1000 -> "int " + i;
            default -> "long";
        };
    }
}
