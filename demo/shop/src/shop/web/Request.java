package shop.web;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.RecordComponent;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;

/** The parameters of a request, from its address and its form. */
public final class Request {
    private final Map<String, String> parameters = new HashMap<>();

    static Request of(HttpExchange exchange) throws IOException {
        Request request = new Request();
        request.read(exchange.getRequestURI().getRawQuery());
        request.read(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
        return request;
    }

    /** Fills a record with the parameters named like its components. */
    <T extends Record> T as(Class<T> type) {
        RecordComponent[] components = type.getRecordComponents();
        Class<?>[] types = Stream.of(components).map(RecordComponent::getType).toArray(Class<?>[]::new);
        Object[] values = Arrays.stream(components).map(this::value).toArray();
        try {
            Constructor<T> constructor = type.getDeclaredConstructor(types);
            return constructor.newInstance(values);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("cannot fill " + type, e);
        }
    }

    private Object value(RecordComponent component) {
        String text = parameters.getOrDefault(component.getName(), "");
        if (component.getType() != int.class) {
            return text;
        }
        try {
            return Integer.valueOf(text);
        } catch (NumberFormatException e) {
            throw new BadRequest(component.getName() + " must be a number");
        }
    }

    private void read(String encoded) {
        if (encoded == null) {
            return;
        }
        for (String pair : encoded.split("&")) {
            int equals = pair.indexOf('=');
            if (equals > 0) {
                parameters.put(decode(pair.substring(0, equals)), decode(pair.substring(equals + 1)));
            }
        }
    }

    private static String decode(String text) {
        try {
            return URLDecoder.decode(text, StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            throw new BadRequest("malformed parameter");
        }
    }
}
