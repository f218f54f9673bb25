import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.logging.LogManager;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;
import org.apache.catalina.webresources.DirResourceSet;
import org.apache.catalina.webresources.StandardRoot;

/** A Tomcat on a free port of the loopback interface with one web application, until standard input ends. */
public final class Server {
    private Server() {
    }

    /** Takes the application's folder, and that of its classes. */
    public static void main(String[] args) throws Exception {
        LogManager.getLogManager().reset(); // tests read the error stream
        Path base = Files.createTempDirectory(Path.of("").toAbsolutePath(), "tomcat");
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(base.toString());
        tomcat.setHostname("127.0.0.1");
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        Context context = tomcat.addWebapp("", new File(args[0]).getAbsolutePath());
        StandardRoot resources = new StandardRoot(context);
        resources.addPreResources(new DirResourceSet(resources, "/WEB-INF/classes", args[1], "/"));
        context.setResources(resources);
        tomcat.start();
        System.out.println("listening http://127.0.0.1:" + tomcat.getConnector().getLocalPort() + "/");
        System.out.println("ready");

        while (System.in.read(new byte[256]) >= 0) {
            // Whatever is typed, only the end counts.
        }
        tomcat.stop();
        tomcat.destroy();
    }
}
