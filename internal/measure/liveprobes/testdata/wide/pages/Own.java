package pages;

import java.util.Iterator;

/** One of the program itself. */
public class Own implements Iterator<Integer> {
    private int left = 3;

    @Override
    public boolean hasNext() {
        return Integer.signum(left) > 0;
    }

    @Override
    public Integer next() {
        return Integer.valueOf(left--);
    }
}
