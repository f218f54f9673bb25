package shop.web;

import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.util.Collection;
import java.util.Map;
import java.util.function.Consumer;

/** Writes records, collections, maps, numbers and texts as JSON. */
final class Json {
    private final StringBuilder out = new StringBuilder();

    private Json() {
    }

    static String write(Object value) {
        Json json = new Json();
        json.value(value);
        return json.out.toString();
    }

    private void value(Object value) {
        if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else if (value instanceof Record record) {
            object(record);
        } else if (value instanceof Map<?, ?> map) {
            list('{', '}', map.entrySet(), entry -> member(entry.getKey().toString(), entry.getValue()));
        } else if (value instanceof Collection<?> items) {
            list('[', ']', items, this::value);
        } else {
            text(value.toString());
        }
    }

    private void object(Record record) {
        out.append('{');
        String separator = "";
        for (RecordComponent component : record.getClass().getRecordComponents()) {
            out.append(separator);
            member(component.getName(), read(component.getAccessor(), record));
            separator = ",";
        }
        out.append('}');
    }

    private static Object read(Method accessor, Record record) {
        try {
            return accessor.invoke(record);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("cannot read " + accessor, e);
        }
    }

    private void member(String name, Object value) {
        text(name);
        out.append(':');
        value(value);
    }

    private <T> void list(char open, char close, Collection<T> items, Consumer<? super T> each) {
        out.append(open);
        String separator = "";
        for (T item : items) {
            out.append(separator);
            each.accept(item);
            separator = ",";
        }
        out.append(close);
    }

    private void text(String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }
}
