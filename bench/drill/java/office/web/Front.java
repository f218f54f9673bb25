package office.web;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.Executors;

/** Where requests come in. */
public final class Front {
    private final Map<String, Handler> handlers;

    private Front(Map<String, Handler> handlers) {
        this.handlers = handlers;
    }

    /** Starts a server, and returns its address. */
    public static String start(Map<String, Handler> handlers) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 50);
        server.createContext("/", new Front(handlers)::serve);
        server.setExecutor(Executors.newFixedThreadPool(8, work -> {
            Thread thread = new Thread(work, "web");
            thread.setDaemon(true);
            return thread;
        }));
        server.start();
        return "127.0.0.1:" + server.getAddress().getPort();
    }

    void serve(HttpExchange exchange) throws IOException {
        try (exchange) {
            byte[] answer;
            int status = 200;
            try {
                answer = route(Request.read(exchange.getRequestURI())).getBytes(StandardCharsets.UTF_8);
            } catch (Exception e) {
                answer = e.toString().getBytes(StandardCharsets.UTF_8);
                status = 500;
            }
            exchange.sendResponseHeaders(status, answer.length);
            exchange.getResponseBody().write(answer);
        }
    }

    String route(Request request) throws Exception {
        Handler handler = handlers.get(request.kind());
        if (handler == null) {
            throw new IllegalArgumentException("no orders of kind " + request.kind());
        }
        return handler.handle(request);
    }
}
