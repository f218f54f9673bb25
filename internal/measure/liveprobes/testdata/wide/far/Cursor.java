package far;

import java.util.Iterator;

/** One of a library. */
public class Cursor implements Iterator<Integer> {
    private int left = 3;

    @Override
    public boolean hasNext() {
        return step(left) > 0;
    }

    @Override
    public Integer next() {
        return Integer.valueOf(left--);
    }

    private static int step(int left) {
        return Integer.signum(left);
    }
}
