package shop;

import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.web.servlet.context.ServletWebServerApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

/** The same shop with Spring Boot, JdbcTemplate and HikariCP. */
public final class SpringShop {
    private static final int MOST_LINES = 3;

    private SpringShop() {
    }

    /** The program. */
    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @Import(Shop.class)
    static class Application {
    }

    /** Answers requests. */
    @RestController
    static class Shop {
        private final JdbcTemplate database;

        Shop(JdbcTemplate database) {
            this.database = database;
        }

        @GetMapping("/orders/{id}")
        String order(@PathVariable("id") int id) {
            StringBuilder text = new StringBuilder();
            text.append(database.queryForObject("SELECT customer FROM orders WHERE id = ?", String.class, id));
            for (int i = 0; i <= id % MOST_LINES; i++) {
                text.append(database.queryForObject("SELECT name FROM items WHERE id = ?", String.class, i));
            }
            return text.toString();
        }

        @GetMapping("/items/{id}")
        String item(@PathVariable("id") int id) {
            return database.queryForList("SELECT id FROM items WHERE name = 'hunter2' OR id = " + id).toString();
        }

        @PostMapping("/visits")
        void visit() {
            database.update("INSERT INTO visits (customer) VALUES (?)", "hunter2");
        }
    }

    public static void main(String[] args) throws Exception {
        Database.create(args[0]);
        SpringApplication application = new SpringApplication(Application.class);
        if (args[0].startsWith("jdbc:postgresql:")) { // its own way to find out whether a connection lives is in no log
            System.setProperty("spring.datasource.hikari.connection-test-query", "SELECT 1");
        }
        application.setDefaultProperties(Map.of("server.port", "0", "spring.datasource.url", args[0], "server.tomcat.accesslog.enabled", "true",
                "server.tomcat.accesslog.directory", args[1], "server.tomcat.accesslog.prefix", "access", "server.tomcat.accesslog.suffix", ".log",
                "server.tomcat.accesslog.rotate", "false", "server.tomcat.accesslog.buffered", "false", "server.tomcat.accesslog.pattern", "%m %U %s"));
        ServletWebServerApplicationContext context = (ServletWebServerApplicationContext) application.run();
        System.out.println("listening " + context.getWebServer().getPort());
        System.out.println("ready");
        while (System.in.read() >= 0) {
            continue;
        }
        System.exit(0);
    }
}
