/** Labelled breaks and continues, loops of every form, conditions that jump in many ways. */
public final class Labels {
    public static void main(String[] args) {
        System.out.println(primes(50));
        System.out.println(search(new int[][] {{1, 2}, {3, 4}, {5, 6}}, 4) + search(new int[][] {{1}}, 9));
        System.out.println(block(1) + block(2) + block(3));
        System.out.println(doWhile(10) + " " + whileFalse() + " " + forever());
        System.out.println(logic(true, false, true) + logic(false, true, false) + logic(true, true, true));
        System.out.println(ternaries(5) + ternaries(-5) + ternaries(0));
        System.out.println(collatz(27));
        empty();
    }

    static String primes(int limit) {
        StringBuilder out = new StringBuilder();
        outer:
        for (int n = 2; n < limit; n++) {
            for (int d = 2; d * d <= n; d++) {
                if (n % d == 0) {
                    continue outer;
                }
            }
            out.append(n).append(' ');
        }
        return out.toString();
    }

    static String search(int[][] grid, int wanted) {
        int row = 0;
        int column = 0;
        found:
        {
            for (row = 0; row < grid.length; row++) {
                for (column = 0; column < grid[row].length; column++) {
                    if (grid[row][column] == wanted) {
                        break found;
                    }
                }
            }
            return "none ";
        }
        return row + "," + column + " ";
    }

    static String block(int n) {
        String s = "";
        a:
        {
            b:
            {
                if (n == 1) {
                    break a;
                }
                if (n == 2) {
                    break b;
                }
                s += "x";
            }
            s += "y";
        }
        return s + "z ";
    }

    static int doWhile(int n) {
        int steps = 0;
        do {
            n -= 3;
            if (n == 4) {
                continue;
            }
            steps++;
        } while (n > 0);
        return steps;
    }

    static int whileFalse() {
        int n = 0;
        while (n != 0) {
            n++;
        }
        for (; n < 0; ) {
            n++;
        }
        return n;
    }

    static int forever() {
        for (int i = 1;; i *= 2) {
            if (i > 1000) {
                return i;
            }
        }
    }

    static String logic(boolean a, boolean b, boolean c) {
        boolean x = a && b || !c && (a || !b);
        boolean y = a & b | c ^ a;
        boolean z = !(x ? y : c) != (a == b);
        return "" + x + y + z + " ";
    }

    static String ternaries(int n) {
        return (n > 0 ? n > 3 ? "big" : "small" : n < 0 ? "minus" : null) + " ";
    }

    static long collatz(long n) {
        long steps = 0;
        while (n != 1) {
            n = (n & 1) == 0 ? n / 2 : 3 * n + 1;
            ++steps;
        }
        return steps;
    }

    static void empty() {
    }
}
