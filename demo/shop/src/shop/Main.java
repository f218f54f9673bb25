package shop;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.LocalDate;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import shop.cart.Carts;
import shop.catalog.Catalog;
import shop.customer.Customers;
import shop.loyalty.LoyaltyLedger;
import shop.loyalty.TierRepository;
import shop.loyalty.TierRules;
import shop.order.Checkout;
import shop.order.Orders;
import shop.order.Stock;
import shop.payment.CardPayment;
import shop.payment.CreditPolicy;
import shop.payment.InvoicePayment;
import shop.pricing.Pricing;
import shop.store.Archive;
import shop.store.Database;
import shop.store.Schema;
import shop.store.Seed;
import shop.web.BrowseHandler;
import shop.web.CartHandler;
import shop.web.CheckoutHandler;
import shop.web.HistoryHandler;
import shop.web.InvoiceHandler;
import shop.web.ProductHandler;
import shop.web.Router;
import shop.web.SearchHandler;
import shop.web.StatsHandler;

/** Opens the shop on a free port of the loopback interface, until standard input ends. */
public final class Main {
    private static final int CLERKS = 8;

    private Main() {
    }

    public static void main(String[] args) throws Exception {
        // Without it, small answers wait for the browser's acknowledgement.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        Database database = new Database(CLERKS);
        Schema.create(database);
        new Seed(database, LocalDate.now()).fill();
        new Archive(database).keepPruning();

        ExecutorService clerks = Executors.newFixedThreadPool(CLERKS);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(clerks);
        server.createContext("/", routes(database));
        server.start();
        System.out.println("listening http://127.0.0.1:" + server.getAddress().getPort() + "/");
        System.out.println("ready");

        awaitEndOfInput();
        server.stop(0);
        clerks.shutdown();
    }

    private static Router routes(Database database) {
        Catalog catalog = new Catalog(database);
        Customers customers = new Customers(database);
        Carts carts = new Carts();
        Orders orders = new Orders(database);
        LoyaltyLedger ledger = new LoyaltyLedger(orders, new TierRules(new TierRepository(database)));
        Checkout checkout = new Checkout(database, new Pricing(), new Stock(database), orders);
        Router router = new Router();
        return router
            .route("GET /", new BrowseHandler(catalog))
            .route("GET /search", new SearchHandler(catalog))
            .route("GET /product", new ProductHandler(catalog))
            .route("POST /cart", new CartHandler(customers, catalog, carts))
            .route("POST /checkout", new CheckoutHandler(customers, carts, checkout,
                List.of(new CardPayment(), new InvoicePayment(new CreditPolicy(ledger)))))
            .route("GET /orders", new HistoryHandler(customers, orders))
            .route("GET /invoice", new InvoiceHandler(customers, orders))
            .route("GET /stats", new StatsHandler(Map.of("requests", router::requests,
                "statements", database::statements)));
    }

    private static void awaitEndOfInput() throws IOException {
        byte[] ignored = new byte[256];
        while (System.in.read(ignored) >= 0) {
            // Whatever is typed, only the end counts.
        }
    }
}
