package tenants.web;

import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import tenants.service.Agreements;
import tenants.service.Catalog;
import tenants.service.Orders;
import tenants.service.Pricing;
import tenants.service.Reports;
import tenants.service.Service;
import tenants.service.Stock;
import tenants.store.Seed;
import tenants.store.Store;

/**
 * Answers <code>GET /TENANT/SERVICE</code>, and prints what it knows itself of each request that has a number:
 * <code>answered NUMBER TENANT SERVICE WITHIN AROUND</code>, the last two in nanoseconds, measured inside and outside
 * {@link #handle}.
 */
public final class Front extends HttpServlet {
    private static final long serialVersionUID = 1;
    private static final int CONNECTIONS = 8;
    private static final int HELPERS = 2;

    private transient Map<String, Service> services;
    private transient Map<String, Tenant> tenants;
    private transient Store store;
    private transient ExecutorService helpers;

    @Override
    public void init() throws ServletException {
        try {
            store = new Store(CONNECTIONS);
            tenants = new Seed(store).fill();
        } catch (SQLException e) {
            throw new ServletException(e);
        }
        helpers = Executors.newFixedThreadPool(HELPERS);
        Pricing pricing = new Pricing(new Agreements(store));
        Orders orders = new Orders(store);
        services = Map.of("catalog", new Catalog(store), "orders", orders,
            "report", new Reports(orders, pricing, new Stock(store), helpers));
    }

    @Override
    public void destroy() {
        helpers.shutdown();
        store.close();
    }

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        String[] path = request.getPathInfo().split("/");
        Tenant tenant = path.length == 3 ? tenants.get(path[1]) : null;
        if (tenant == null || !services.containsKey(path[2])) {
            response.sendError(HttpServletResponse.SC_NOT_FOUND);
            return;
        }
        Visit visit = new Visit(request.getIntHeader("X-Number"), tenant, path[2]);
        long began = System.nanoTime();
        Answer answer = handle(visit);
        long around = System.nanoTime() - began;
        response.setContentType("text/plain");
        response.getWriter().print(answer.text());
        if (visit.number() > 0) {
            System.out.println("answered " + visit.number() + " " + tenant.name() + " " + visit.service() + " "
                + answer.nanos() + " " + around);
        }
    }

    private Answer handle(Visit visit) {
        long began = System.nanoTime();
        String text = services.get(visit.service()).answer(visit.tenant());
        return new Answer(text, System.nanoTime() - began);
    }
}
