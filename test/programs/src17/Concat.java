import java.math.BigDecimal;

/** String concatenation of every type, with constants between, many arguments, and side effects in order. */
public final class Concat {
    static int calls;

    static String next() {
        return "<" + ++calls + ">";
    }

    public static void main(String[] args) {
        boolean z = true;
        byte b = -7;
        char c = 'x';
        short s = 700;
        int i = 1 << 30;
        long l = -1L << 50;
        float f = 1.1f;
        double d = 1e300;
        String nothing = null;
        Object object = new BigDecimal("1.50");
        System.out.println("z=" + z + " b=" + b + " c=" + c + " s=" + s + " i=" + i + " l=" + l + " f=" + f + " d=" + d);
        System.out.println(nothing + object + nothing);
        System.out.println("" + c + c + 1 + 2 + ('a' + 'b') + (char) ('a' + 1));
        System.out.println(next() + next() + next() + calls);
        String text = "a";
        text += 1;
        text += 'b';
        text += 2.0;
        text += nothing;
        System.out.println(text);
        System.out.println("\u0001tags\u0002 " + i + "\u0001" + l + " ünïcödé \uD83D\uDE00 " + c);
        System.out.println(many(1, 2L, 3f, 4d, "5", '6', true));
        StringBuilder loop = new StringBuilder();
        for (int n = 0; n < 5; n++) {
            loop.append("n" + n + (n % 2 == 0 ? "e" : "o"));
        }
        System.out.println(loop);
        try {
            System.out.println("before " + fails() + " after");
        } catch (IllegalStateException e) {
            System.out.println("failed inside: " + e.getStackTrace()[0]);
        }
    }

    static String fails() {
        throw new IllegalStateException();
    }

    static String many(int a, long b, float c, double d, String e, char f, boolean g) {
        return a + "," + b + "," + c + "," + d + "," + e + "," + f + "," + g + ";" + a + b + c + d + e + f + g + ";"
                + g + f + e + d + c + b + a + ";" + (a + b) + (c + d) + (e + f) + ";" + a + "|" + a + "|" + a + "|" + a;
    }
}
