package neighbour;

import harness.Tally;

/** Says a word and a number, both constants of its class file, used nowhere else. */
final class Spoken {
    private static final int WORD = Tally.exact(Spoken.class, "word", 0, 0);
    private static final int NUMBER = Tally.exact(Spoken.class, "number", 0, 0);

    private Spoken() {
    }

    static String word() {
        Tally.in(WORD);
        return "original-word";
    }

    static int number() {
        Tally.in(NUMBER);
        return 1_000_003;
    }

    static long counted(long x) {
        Tally.in(Main.COUNTED);
        return x * 3 + 1;
    }
}
