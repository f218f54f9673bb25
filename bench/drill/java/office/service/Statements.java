package office.service;

import java.util.ArrayList;
import java.util.List;

/** The papers of an order. Those for a whole year have many rows, which are all kept until they are written. */
public final class Statements {
    private final int yearRows;
    private final List<byte[]> archive = new ArrayList<>();

    public Statements(int yearRows) {
        this.yearRows = yearRows;
        for (int i = 0; i < yearRows; i++) {
            archive.add(new byte[400]); // what the program has in memory anyway
        }
    }

    String papers(Order order) {
        if (!order.annual()) {
            return "";
        }
        return " with " + rows(order).size() + " rows";
    }

    private List<long[]> rows(Order order) {
        List<long[]> rows = new ArrayList<>();
        for (int i = 0; i < yearRows; i++) {
            rows.add(new long[60]);
            rows.get(i)[0] = order.weight();
        }
        return rows;
    }
}
