package office;

import java.util.HashMap;
import java.util.Map;
import office.dao.Database;
import office.dao.LineDao;
import office.dao.OrderDao;
import office.kind.Kinds;
import office.service.Addresses;
import office.service.Carriers;
import office.service.Customers;
import office.service.InvoiceNumbers;
import office.service.LedgerExport;
import office.service.OrderService;
import office.service.Statements;
import office.service.Statistics;
import office.service.Tariffs;
import office.web.Front;

/**
 * The office of a haulier: takes orders over HTTP until its input ends. Its code is the same for all problems; the first argument
 * says which one its data, its settings or its other threads have. The second one is where the carrier's server listens.
 */
public final class Main {
    private Main() {
    }

    public static void main(String[] args) throws Exception {
        String problem = args[0];
        Database database = new Database(problem.equals("pool") ? 1 : 20, problem.equals("n+1") ? 6000 : 4);
        InvoiceNumbers numbers = new InvoiceNumbers();
        OrderService service = new OrderService(
            new Customers(new OrderDao(database), new LineDao(database)),
            new Addresses(),
            new Tariffs(problem.equals("tenant") ? 4_000_000 : 200),
            numbers,
            args.length > 1 ? Carriers.at(args[1]) : Carriers.local(),
            new Statements(problem.equals("gc") ? 120_000 : 0));
        start("ledger-export", new LedgerExport(problem.equals("lock") ? numbers : new InvoiceNumbers()));
        if (problem.equals("pool")) {
            start("statistics", new Statistics(database));
        }
        Map<String, office.web.Handler> handlers = new HashMap<>(Kinds.handlers(service));
        System.out.println("listening " + Front.start(handlers));
        System.out.println("ready");
        while (System.in.read() >= 0) {
            // until its input ends
        }
        Runtime.getRuntime().halt(0);
    }

    private static void start(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
    }
}
