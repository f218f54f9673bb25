package pages;

import java.util.Iterator;

/** Uses whatever implements an interface of the JDK. */
public class Pages {
    public int list(Iterator<Integer> rows) {
        int sum = 0;
        while (rows.hasNext()) {
            sum += rows.next();
        }
        return sum;
    }
}
