import java.io.File;
import java.nio.file.Path;
import java.util.logging.LogManager;
import org.apache.catalina.startup.Tomcat;

/** A Tomcat on a free port of the loopback interface with one web application, until standard input ends. */
public final class Server {
    private Server() {
    }

    /** Takes the application's folder. What Tomcat makes goes where it runs. */
    public static void main(String[] args) throws Exception {
        LogManager.getLogManager().reset();
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(Path.of("").toAbsolutePath().toString());
        tomcat.setHostname("127.0.0.1");
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        tomcat.addWebapp("", new File(args[0]).getAbsolutePath());
        tomcat.start();
        System.out.println("ready http://127.0.0.1:" + tomcat.getConnector().getLocalPort() + "/");

        while (System.in.read(new byte[256]) >= 0) {
            // Whatever is typed, only the end counts.
        }
        tomcat.stop();
        tomcat.destroy();
    }
}
