class Switches {
    enum Color { RED, GREEN, BLUE { @Override int weight() { return 7; } };
        int weight() { return 1; } }

    static int dense(int i) {
        return switch (i) { case 0 -> 5; case 1, 2 -> 6; case 3 -> { int k = i * i; yield k; } default -> i; };
    }

    static int sparse(int i) {
        switch (i) { case Integer.MIN_VALUE: return 1; case 0: return 2; case Integer.MAX_VALUE: return 3; }
        return 4;
    }

    static int enums(Color c) {
        return switch (c) { case RED -> 1; case GREEN -> 2; case BLUE -> 3; };
    }
}
