class Concat {
    static String of(Object a, int b, long c, double d, char e, String f) {
        return "a\u0001b" + a + b + c + d + e + f + "\u0002" + null;
    }
}
