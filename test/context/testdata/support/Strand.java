package support;

/** A line of choices: those of a root thread, or of a task wherever it runs. What it does does not depend on time. */
final class Strand {
    final int level;
    int left; // calls it may still make
    private long random;

    Strand(long random, int left, int level) {
        this.random = random * 0x9E3779B97F4A7C15L | 1;
        this.left = left;
        this.level = level;
    }

    int next(int bound) {
        random ^= random << 13;
        random ^= random >>> 7;
        random ^= random << 17;
        return (int) ((random >>> 33) % bound);
    }

    /** A line for something that is handed over, with some of the calls of this one. */
    Strand part() {
        int share = 5 + next(25);
        left -= share;
        return new Strand(random, share, level + 1);
    }
}
