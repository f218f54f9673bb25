package shop.web;

/** What goes back to the browser. */
public record Reply(int status, String type, String body) {
    static Reply json(int status, Object value) {
        return new Reply(status, "application/json", Json.write(value) + "\n");
    }

    static Reply page(String title, String body) {
        String html = "<!DOCTYPE html><html><head><title>" + escape(title) + "</title></head><body><h1>" + escape(title)
            + "</h1>\n" + body + "</body></html>\n";
        return new Reply(200, "text/html", html);
    }

    static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\"", "&quot;");
    }

    static String money(long cents) {
        return String.format("%d.%02d", cents / 100, cents % 100);
    }
}
