import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.logging.LogManager;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/** A Tomcat with a servlet and a JSP page, and clients that ask it over the loopback. */
final class TomcatWork implements RealProgram.Work {
    private static final Tomcat SERVER = start();
    /** Where a frame of a stack trace is from. A JVM does not know it for methods that run while their class is changed. */
    private static final String SOURCE = "\\((Unknown Source|\\w+\\.java:\\d+)\\)";

    private final HttpClient client = HttpClient.newHttpClient();

    @SuppressWarnings("deprecation") // the replacement is not in every Tomcat 10
    private static Tomcat start() {
        try {
            LogManager.getLogManager().reset(); // says nothing of the requests that fail
            Path base = Files.createTempDirectory("tomcat");
            Path web = Files.createDirectories(base.resolve("web"));
            Files.writeString(web.resolve("page.jsp"), """
                    <%@ page contentType="text/plain;charset=UTF-8" import="java.util.*" %><%!
                    private String twice(String s) { return s + s; } %><%
                    for (int i = 0; i < 10; i++) { out.println(i + " " + twice(request.getParameter("word"))); }
                    try { Object o = "text"; Integer n = (Integer) o; } catch (ClassCastException e) { out.println("caught"); } %>
                    ${1 + 2} ${param.word}
                    """);
            Tomcat tomcat = new Tomcat();
            tomcat.setBaseDir(base.toString());
            tomcat.setPort(0);
            Context context = tomcat.addWebapp("", web.toString());
            context.addServletContainerInitializer(new org.apache.jasper.servlet.JasperInitializer(), null);
            Tomcat.addServlet(context, "plain", new Plain());
            context.addServletMappingDecoded("/plain", "plain");
            tomcat.getConnector();
            tomcat.start();
            return tomcat;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public String round() throws Exception {
        StringBuilder text = new StringBuilder();
        for (String path : new String[] {"/plain?n=20", "/page.jsp?word=ab", "/plain?n=x", "/missing", "/page.jsp?word=cd"}) {
            URI uri = URI.create("http://127.0.0.1:" + SERVER.getConnector().getLocalPort() + path);
            HttpResponse<String> answer = client.send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
            text.append(path).append(' ').append(answer.statusCode()).append('\n').append(answer.body().replaceAll("\\s+at .*", "").replaceAll(SOURCE, "")).append('\n');
        }
        return text.toString();
    }

    private static final class Plain extends HttpServlet {
        private static final long serialVersionUID = 1;

        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            int n = Integer.parseInt(request.getParameter("n"));
            response.setContentType("text/plain");
            for (int i = 0; i < n; i++) {
                response.getWriter().println("line " + i);
            }
        }
    }
}
