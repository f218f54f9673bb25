package joined;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.URL;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** Calls a web server in a transaction. A line has a way to do so, the URL, and the header traceparent, or none. */
public final class Caller {
    private static final HttpClient CLIENT = HttpClient.newHttpClient();

    private Caller() {
    }

    /** Takes orders, and asks the server twice for each; a client asks the second time without waiting in the call. */
    static final class Front {
        String order(String way, String url, String parent) throws Exception {
            if (way.equals("client")) {
                return byClient(url, parent) + " " + CLIENT.sendAsync(request(url, parent), HttpResponse.BodyHandlers.ofString()).join().body();
            }
            return byConnection(url, parent) + " " + byConnection(url, parent);
        }
    }

    private static String byConnection(String url, String parent) throws Exception {
        HttpURLConnection connection = (HttpURLConnection) new URL(url).openConnection();
        if (!parent.equals("none")) {
            connection.setRequestProperty("traceparent", parent);
        }
        try (BufferedReader body = new BufferedReader(new InputStreamReader(connection.getInputStream()))) {
            return body.readLine();
        }
    }

    private static String byClient(String url, String parent) throws Exception {
        return CLIENT.send(request(url, parent), HttpResponse.BodyHandlers.ofString()).body();
    }

    private static HttpRequest request(String url, String parent) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url));
        if (!parent.equals("none")) {
            request.header("traceparent", parent);
        }
        return request.build();
    }

    public static void main(String[] args) throws Exception {
        Front front = new Front();
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            boolean isOrder = words[0].startsWith("order-");
            String way = isOrder ? words[0].substring(6) : words[0];
            System.out.println("answered " + (isOrder ? front.order(way, words[1], words[2])
                    : way.equals("client") ? byClient(words[1], words[2]) : byConnection(words[1], words[2])));
        }
        System.exit(0);
    }
}
