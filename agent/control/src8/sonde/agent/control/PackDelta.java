package sonde.agent.control;

/**
 * Creates a woven class from the original and a delta of a pack. An invalid delta throws an exception of an array access,
 * or creates a class whose checksum is wrong.
 */
final class PackDelta {
    private static final int HERE = 0;
    private static final int FURTHER = 1;
    private static final int BACK = 2;

    private final byte[] delta;
    private int at;
    private final byte[] front;
    private final int dictionary;
    private final int dictionaryBytes;
    private final byte[] original;

    private byte[] woven;
    private int made;
    /** The kind of the last copy, and its end. */
    private byte[] source;
    private int behind;
    /** The end of the last copy of the original. */
    private int ended;

    /** The delta is in an array with others, the dictionary in the pack's front. */
    PackDelta(byte[] deltas, int at, byte[] front, int dictionary, int dictionaryBytes, byte[] original) {
        this.delta = deltas;
        this.at = at;
        this.front = front;
        this.dictionary = dictionary;
        this.dictionaryBytes = dictionaryBytes;
        this.original = original;
    }

    void make(byte[] into) {
        woven = into;
        source = original;
        while (made < into.length) {
            fill();
        }
    }

    /** A method and not the body of a loop, so that it is called often enough to be compiled with the first class. */
    private void fill() {
        int fresh = number();
        System.arraycopy(delta, at, woven, made, fresh);
        at += fresh;
        made += fresh;
        if (made == woven.length) {
            return;
        }
        int head = number();
        int from = behind + fresh;
        switch (head & 3) {
            case HERE:
                source = original;
                from = ended;
                break;
            case FURTHER:
                int zigzag = number();
                source = original;
                from = ended + (zigzag >>> 1 ^ -(zigzag & 1));
                break;
            case BACK:
                source = woven;
                from = made - number();
                if (from < 0) {
                    source = front;
                    from += dictionary + dictionaryBytes;
                }
                break;
            default: // from the end of the last copy
        }
        int length = head >>> 2;
        System.arraycopy(source, from, woven, made, length);
        made += length;
        behind = from + length;
        if (source == original) {
            ended = behind;
        }
    }

    private int number() {
        int number = 0;
        int shift = 0;
        byte next;
        do {
            next = delta[at++];
            number |= (next & 0x7f) << shift;
            shift += 7;
        } while (next < 0);
        return number;
    }
}
