package office.service;

import java.util.HashMap;
import java.util.Map;

/** The prices that tenants have agreed on, by weight. */
public final class Tariffs {
    private final Map<String, TariffTable> tables = new HashMap<>();

    /** One tenant has as many tariffs as it is told, the others 200. */
    public Tariffs(int mostTariffs) {
        for (String tenant : new String[] {"acme", "initech", "umbrella", "hooli"}) {
            tables.put(tenant, new TariffTable(200));
        }
        tables.put("globex", new TariffTable(mostTariffs));
    }

    long price(Order order) {
        return tables.get(order.tenant()).find(order.weight());
    }
}
