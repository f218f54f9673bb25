package office.web;

import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** What a client asks for: its path is the kind of the order. */
public record Request(String kind, String tenant, int customer, int weight, String address, boolean annual) {
    static Request read(URI uri) {
        Map<String, String> values = new HashMap<>();
        for (String pair : uri.getRawQuery().split("&")) {
            int at = pair.indexOf('=');
            values.put(pair.substring(0, at), URLDecoder.decode(pair.substring(at + 1), StandardCharsets.UTF_8));
        }
        return new Request(uri.getPath().substring(1), values.get("tenant"), Integer.parseInt(values.get("customer")),
            Integer.parseInt(values.get("weight")), values.get("address"), values.containsKey("annual"));
    }
}
