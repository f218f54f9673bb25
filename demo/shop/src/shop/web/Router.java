package shop.web;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import shop.NotFound;
import shop.order.OutOfStock;
import shop.payment.PaymentRefused;

/** Hands each request to the handler of its path, and says no in the way of HTTP. */
public final class Router implements HttpHandler {
    private static final Map<Class<? extends Exception>, Integer> STATUS_OF = Map.of(BadRequest.class, 400,
        PaymentRefused.class, 402, NotFound.class, 404, OutOfStock.class, 409);

    private final Map<String, Handler> handlers = new HashMap<>();
    private final LongAdder requests = new LongAdder();

    /** Requests are identified by method and path, such as "GET /search". */
    public Router route(String request, Handler handler) {
        handlers.put(request, handler);
        return this;
    }

    public long requests() {
        return requests.sum();
    }

    @Override
    public void handle(HttpExchange exchange) throws IOException {
        requests.increment();
        try (exchange) {
            Reply reply = answer(exchange);
            byte[] body = reply.body().getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", reply.type() + "; charset=utf-8");
            exchange.sendResponseHeaders(reply.status(), body.length);
            exchange.getResponseBody().write(body);
        }
    }

    private Reply answer(HttpExchange exchange) throws IOException {
        Handler handler = handlers.get(exchange.getRequestMethod() + " " + exchange.getRequestURI().getPath());
        if (handler == null) {
            return refusal(404, "no such page");
        }
        try {
            return handler.handle(Request.of(exchange));
        } catch (RuntimeException | PaymentRefused e) {
            Integer status = STATUS_OF.get(e.getClass());
            if (status != null) {
                return refusal(status, e.getMessage());
            }
            e.printStackTrace();
            return refusal(500, "the shop has a fault");
        }
    }

    private static Reply refusal(int status, String reason) {
        return Reply.json(status, Map.of("error", reason));
    }
}
