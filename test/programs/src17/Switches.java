import java.util.concurrent.TimeUnit;

/** Switches: dense, sparse, on strings with equal hashes, on enums, nested, with fall-through, as expressions. */
public final class Switches {
    public static void main(String[] args) {
        for (int i = -1; i <= 6; i++) {
            System.out.print(table(i) + " " + fallThrough(i) + " " + arrow(i) + "; ");
        }
        System.out.println();
        for (int n : new int[] {Integer.MIN_VALUE, -70000, 0, 1, 255, 65536, Integer.MAX_VALUE, 42}) {
            System.out.print(lookup(n) + " ");
        }
        System.out.println();
        // "Aa" and "BB" have the same hash code, as have "AaAa", "AaBB" and "BBBB".
        for (String s : new String[] {"Aa", "BB", "AaAa", "AaBB", "BBBB", "BBAa", ""}) {
            System.out.print(string(s) + " ");
        }
        System.out.println();
        for (TimeUnit unit : TimeUnit.values()) {
            System.out.print(enumeration(unit) + " ");
        }
        System.out.println();
        System.out.println(nested(1, 2) + nested(2, 1) + nested(3, 3));
        System.out.println(inLoop());
        System.out.println(wide(3L) + wide(4L));
        try {
            string(null);
        } catch (NullPointerException e) {
            System.out.println("null switch at " + e.getStackTrace()[0]);
        }
    }

    static String table(int i) {
        switch (i) {
            case 0: return "zero";
            case 1: return "one";
            case 2: return "two";
            case 3: return "three";
            case 5: return "five";
            default: return "many";
        }
    }

    static int fallThrough(int i) {
        int n = 0;
        switch (i) {
            case 0: n += 1;
            case 1: n += 10;
            case 2: n += 100; break;
            case 3: n += 1000;
            default: n += 5;
        }
        return n;
    }

    static String arrow(int i) {
        return switch (i) {
            case 0, 2, 4 -> "even";
            case 1, 3 -> {
                String s = "o";
                for (int k = 0; k < 2; k++) {
                    s += "d";
                }
                yield s;
            }
            default -> "far";
        };
    }

    static char lookup(int n) {
        switch (n) {
            case Integer.MIN_VALUE: return 'm';
            case -70000: return 'a';
            case 0: return 'b';
            case 255: return 'c';
            case 65536: return 'd';
            case Integer.MAX_VALUE: return 'M';
        }
        return '?';
    }

    static int string(String s) {
        switch (s) {
            case "Aa": return 1;
            case "BB": return 2;
            case "AaAa": return 3;
            case "AaBB": return 4;
            case "BBBB": return 5;
            case "": return 6;
            default: return 0;
        }
    }

    static String enumeration(TimeUnit unit) {
        return switch (unit) {
            case NANOSECONDS -> "ns";
            case MICROSECONDS -> "us";
            case MILLISECONDS -> "ms";
            case SECONDS -> "s";
            default -> unit.name().substring(0, 1);
        };
    }

    static String nested(int a, int b) {
        switch (a) {
            case 1:
                switch (b) {
                    case 2: return "12 ";
                    default: break;
                }
                return "1? ";
            case 2:
                return switch (b) { case 1 -> "21 "; default -> "2? "; };
            default:
                return "?? ";
        }
    }

    static String inLoop() {
        StringBuilder out = new StringBuilder();
        loop:
        for (int i = 0;; i++) {
            switch (i % 5) {
                case 0: continue;
                case 1: out.append('1'); break;
                case 2: out.append('2'); continue loop;
                case 3:
                    if (i > 12) {
                        break loop;
                    }
                    out.append('3');
                    break;
                default: out.append('d');
            }
            out.append('.');
        }
        return out.toString();
    }

    static double wide(long n) {
        return switch ((int) n) { case 3 -> 3.5; case 4 -> n; default -> Double.NaN; };
    }
}
