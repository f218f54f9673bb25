package shapes;

import harness.Tally;

/** Switches of all kinds, and finally blocks that return, throw, nest and are left by jumps. */
final class Jumps {
    static final int NUMBER = Tally.exact(Jumps.class, "switchOnNumbers", 12, 0);
    static final int WORD = Tally.exact(Jumps.class, "switchOnWords", 4, 0);
    static final int ENUM = Tally.exact(Jumps.class, "switchOnEnum", 2, 0);
    static final int RETURNS = Tally.exact(Jumps.class, "finallyReturns", 6, 0);
    static final int REPLACES = Tally.exact(Jumps.class, "finallyReplaces", 3, 3);
    static final int NESTED = Tally.exact(Jumps.class, "nestedFinally", 6, 2);
    static final int LOOP = Tally.exact(Jumps.class, "leavesLoops", 5, 0);

    private Jumps() {
    }

    static int switchOnNumbers(int x) {
        Tally.in(NUMBER);
        switch (x) {
            case 0: return 10;
            case 1: x += 5; // falls through
            case 2: x += 7; break;
            case 1000: return 11;
            case -70000: return 12;
            default: x--;
        }
        return x;
    }

    static int switchOnWords(String word) {
        Tally.in(WORD);
        return switch (word) {
            case "Aa", "BB" -> 1; // the same hash code
            case "other" -> {
                int n = word.length();
                yield n * 2;
            }
            default -> 3;
        };
    }

    static int switchOnEnum(Kinds.Operation operation) {
        Tally.in(ENUM);
        return switch (operation) {
            case PLUS -> 1;
            case TIMES -> 2;
        };
    }

    @SuppressWarnings("finally")
    static int finallyReturns(int x) {
        Tally.in(RETURNS);
        try {
            if (x % 2 == 0) {
                throw new IllegalStateException("swallowed");
            }
            return 1;
        } finally {
            return x; // swallows the exception and the result
        }
    }

    @SuppressWarnings("finally")
    static void finallyReplaces() {
        Tally.in(REPLACES);
        try {
            throw new IllegalStateException("first");
        } finally {
            throw Tally.out(REPLACES, new UnsupportedOperationException("second"));
        }
    }

    static int nestedFinally(int x) {
        Tally.in(NESTED);
        int trace = 0;
        try {
            try {
                if (x % 3 == 0) {
                    throw new IllegalArgumentException();
                }
                trace += 1;
            } catch (IllegalArgumentException e) {
                trace += 10;
                if (x % 2 == 0) {
                    trace += 100;
                }
            } finally {
                trace += 1000;
                if (x % 3 == 1) {
                    throw Tally.out(NESTED, new IllegalStateException());
                }
            }
        } finally {
            trace += 10000;
        }
        return trace;
    }

    static int leavesLoops(int x) {
        Tally.in(LOOP);
        int n = 0;
        outer:
        for (int i = 0; ; i++) {
            while (true) {
                try {
                    if (i > x) {
                        break outer;
                    }
                    if (n++ % 2 == 0) {
                        continue outer;
                    }
                } finally {
                    n += 3;
                }
            }
        }
        return n;
    }

    static long work() {
        long sum = 0;
        for (int x : new int[] {0, 1, 2, 3, 4, 5, 999, 1000, 1001, -70000, 70000, -1}) {
            sum = sum * 3 + switchOnNumbers(x);
        }
        for (String word : new String[] {"Aa", "BB", "other", "none"}) {
            sum = sum * 3 + switchOnWords(word);
        }
        for (Kinds.Operation operation : Kinds.Operation.values()) {
            sum = sum * 3 + switchOnEnum(operation);
        }
        for (int i = 0; i < 6; i++) {
            sum += finallyReturns(i);
            try {
                sum += nestedFinally(i);
            } catch (IllegalStateException e) {
                sum += 7;
            }
        }
        for (int i = 0; i < 3; i++) {
            try {
                finallyReplaces();
            } catch (UnsupportedOperationException e) {
                sum += e.getMessage().length() + e.getSuppressed().length;
            }
        }
        for (int i = 0; i < 5; i++) {
            sum = sum * 3 + leavesLoops(i);
        }
        return sum;
    }
}
