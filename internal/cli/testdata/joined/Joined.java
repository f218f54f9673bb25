package joined;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.net.URL;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * A web server and its client. A line has a path and the header traceparent, or none. The answer has the trace that
 * OpenTelemetry's agent says it is, or none; that to /seen has the header. The line "port" asks for the port of the server.
 */
public final class Joined {
    private static final String API = "io.opentelemetry.javaagent.shaded.io.opentelemetry.api.trace.";

    private Joined() {
    }

    /** Takes orders. */
    static final class Shop {
        String order() throws Exception {
            return trace();
        }
    }

    private static String trace() throws Exception {
        Class<?> span;
        try {
            span = Class.forName(API + "Span", true, null);
        } catch (ClassNotFoundException e) {
            return "none";
        }
        Object context = span.getMethod("getSpanContext").invoke(span.getMethod("current").invoke(null));
        return (String) Class.forName(API + "SpanContext", true, null).getMethod("getTraceId").invoke(context);
    }

    private static void answer(HttpExchange exchange, String text) throws IOException {
        byte[] body = text.getBytes();
        exchange.sendResponseHeaders(200, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    public static void main(String[] args) throws Exception {
        Shop shop = new Shop();
        ExecutorService pool = Executors.newFixedThreadPool(1);
        HttpServer server = HttpServer.create(new InetSocketAddress("localhost", 0), 0);
        server.createContext("/now", exchange -> {
            try {
                answer(exchange, shop.order());
            } catch (Exception e) {
                throw new IOException(e);
            }
        });
        server.createContext("/later", exchange -> {
            try {
                answer(exchange, pool.submit(shop::order).get());
            } catch (Exception e) {
                throw new IOException(e);
            }
        });
        server.createContext("/seen", exchange -> {
            try {
                shop.order();
                answer(exchange, String.valueOf(exchange.getRequestHeaders().get("traceparent")));
            } catch (Exception e) {
                throw new IOException(e);
            }
        });
        server.start();
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.startsWith("port")) {
                System.out.println("answered " + server.getAddress().getPort());
                continue;
            }
            String[] words = line.split(" ");
            URL url = new URL("http://localhost:" + server.getAddress().getPort() + words[0]);
            HttpURLConnection connection = (HttpURLConnection) url.openConnection();
            connection.setRequestProperty("Authorization", "hunter2");
            if (!words[1].equals("none")) {
                connection.setRequestProperty("traceparent", words[1]);
            }
            try (BufferedReader body = new BufferedReader(new InputStreamReader(connection.getInputStream()))) {
                System.out.println("answered " + body.readLine());
            }
        }
        System.exit(0);
    }
}
