import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.logging.LogManager;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;
import org.apache.jasper.servlet.JasperInitializer;

/**
 * A Tomcat with nothing but what comes with it: its default servlet hands out a file, its JSP servlet a page. Stays until
 * standard input ends. Argument: a folder to keep its files in.
 */
public final class Web {
    private static final String PAGE = """
            <%@ page contentType="text/html;charset=UTF-8" import="java.util.*" %><html><body><%
            Map<String, Integer> words = new TreeMap<>();
            for (String word : request.getParameter("text").split(" ")) { words.merge(word, 1, Integer::sum); }
            for (Map.Entry<String, Integer> e : words.entrySet()) { %><p><%= e.getKey() %>: <%= e.getValue() %></p><% } %>
            ${param.text.length()} ${header["user-agent"]} ${1 + 2 * 3}
            </body></html>
            """;

    private Web() {
    }

    public static void main(String[] args) throws Exception {
        LogManager.getLogManager().reset(); // the output is read by a program
        Path web = Files.createDirectories(Path.of(args[0], "web"));
        Files.writeString(web.resolve("page.jsp"), PAGE);
        Files.writeString(web.resolve("file.txt"), "some text of a file that is handed out\n".repeat(200));
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(args[0]);
        tomcat.setHostname("127.0.0.1");
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        Context context = tomcat.addWebapp("", web.toString());
        context.addServletContainerInitializer(new JasperInitializer(), null);
        tomcat.start();
        System.out.println("listening http://127.0.0.1:" + tomcat.getConnector().getLocalPort() + "/");
        System.out.println("ready");
        awaitEndOfInput();
        Runtime.getRuntime().halt(0); // requests are under way, and nobody wants to hear how they take it
    }

    private static void awaitEndOfInput() throws IOException {
        byte[] ignored = new byte[256];
        while (System.in.read(ignored) >= 0) {
            // Whatever is typed, only the end counts.
        }
    }
}
