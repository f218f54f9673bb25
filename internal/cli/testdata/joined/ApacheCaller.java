package joined;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.hc.client5.http.classic.methods.HttpGet;
import org.apache.hc.core5.http.io.entity.EntityUtils;

/** Does what Caller does, with Apache's clients: the first word of a line is "four" or "five", after "order-" in a transaction. */
public final class ApacheCaller {
    private static final org.apache.http.impl.client.CloseableHttpClient FOUR = org.apache.http.impl.client.HttpClients.createDefault();
    private static final org.apache.hc.client5.http.impl.classic.CloseableHttpClient FIVE =
            org.apache.hc.client5.http.impl.classic.HttpClients.createDefault();

    private ApacheCaller() {
    }

    /** Takes orders, and asks the server twice for each. */
    static final class Front {
        String order(String way, String url, String parent) throws Exception {
            return ask(way, url, parent) + " " + ask(way, url, parent);
        }
    }

    private static String ask(String way, String url, String parent) throws Exception {
        if (way.equals("four")) {
            org.apache.http.client.methods.HttpGet get = new org.apache.http.client.methods.HttpGet(url);
            if (!parent.equals("none")) {
                get.setHeader("traceparent", parent);
            }
            return FOUR.execute(get, response -> org.apache.http.util.EntityUtils.toString(response.getEntity())).trim();
        }
        HttpGet get = new HttpGet(url);
        if (!parent.equals("none")) {
            get.setHeader("traceparent", parent);
        }
        return FIVE.execute(get, response -> EntityUtils.toString(response.getEntity())).trim();
    }

    public static void main(String[] args) throws Exception {
        Front front = new Front();
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            boolean isOrder = words[0].startsWith("order-");
            System.out.println("answered " + (isOrder ? front.order(words[0].substring(6), words[1], words[2]) : ask(words[0], words[1], words[2])));
        }
        System.exit(0);
    }
}
