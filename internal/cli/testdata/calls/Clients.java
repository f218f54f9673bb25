package calls;

import com.sun.net.httpserver.HttpServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.apache.hc.client5.http.classic.methods.HttpGet;
import org.apache.hc.core5.http.io.entity.EntityUtils;

/** A web server, Apache's clients of both versions, and the JDK's client, which does not wait. A line "work N" sends all requests N times, one after the other. */
public final class Clients {
    private static final String SECRET = "hunter2";
    private static final HttpClient JDK = HttpClient.newHttpClient();

    private Clients() {
    }

    public static void main(String[] args) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("localhost", 0), 0);
        server.createContext("/", exchange -> {
            byte[] body = (SECRET + "-body").getBytes();
            exchange.sendResponseHeaders(exchange.getRequestURI().getPath().equals("/fine") ? 200 : 500, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
        int nobody;
        try (ServerSocket socket = new ServerSocket(0)) {
            nobody = socket.getLocalPort();
        }
        String url = "http://localhost:" + server.getAddress().getPort();
        String nowhere = "http://localhost:" + nobody;
        for (int i = 0; i < 2; i++) {
            round(url, nowhere);
        }
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            int rounds = Integer.parseInt(line.substring("work ".length()));
            for (int i = 0; i < rounds; i++) {
                round(url, nowhere);
            }
            System.out.println("did " + rounds);
        }
        System.exit(0);
    }

    private static void round(String url, String nowhere) throws Exception {
        String query = "?token=" + SECRET;
        try (org.apache.http.impl.client.CloseableHttpClient four = org.apache.http.impl.client.HttpClients.createDefault()) {
            org.apache.http.client.methods.HttpGet get = new org.apache.http.client.methods.HttpGet(url + "/fine" + query);
            get.addHeader("Authorization", SECRET + "-header");
            four.execute(get).close();
            four.execute(get, response -> org.apache.http.util.EntityUtils.toString(response.getEntity()));
            four.execute(new org.apache.http.client.methods.HttpGet(url + "/broken")).close();
            try {
                four.execute(new org.apache.http.client.methods.HttpGet(nowhere)).close();
                throw new IllegalStateException("nobody listens there");
            } catch (IOException expected) {
                // The connection is refused.
            }
        }
        try (org.apache.hc.client5.http.impl.classic.CloseableHttpClient five = org.apache.hc.client5.http.impl.classic.HttpClients.createDefault()) {
            HttpGet get = new HttpGet(url + "/fine" + query);
            get.addHeader("Authorization", SECRET + "-header");
            five.execute(get, response -> EntityUtils.toString(response.getEntity()));
            five.execute(new HttpGet(url + "/broken"), response -> EntityUtils.toString(response.getEntity()));
        }
        HttpRequest request = HttpRequest.newBuilder(URI.create(url + "/fine" + query)).header("Authorization", SECRET + "-header").build();
        JDK.sendAsync(request, HttpResponse.BodyHandlers.ofString()).join();
    }
}
