package office.service;

import java.util.LinkedList;
import java.util.List;

/** The tariffs of one tenant. */
final class TariffTable {
    private record Tariff(int fromWeight, long price) {
    }

    private final List<Tariff> tariffs = new LinkedList<>();

    TariffTable(int size) {
        for (int i = 0; i < size; i++) {
            tariffs.add(new Tariff(i % 97, 1000L + i));
        }
    }

    /** The dearest tariff for a weight: looks at all of them. */
    long find(int weight) {
        long dearest = 0;
        for (Tariff t : tariffs) {
            if (t.fromWeight() <= weight % 97 && t.price() > dearest) {
                dearest = t.price();
            }
        }
        return dearest;
    }
}
