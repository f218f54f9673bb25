package proxied;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;

/** Calls a service through a class that was made at run time, which calls a store through a proxy of its interface. */
public final class Proxied {
    private static volatile int sink;

    /** Has no class that implements it. */
    public interface Store {
        int load(int id);
    }

    /** What proxies of frameworks have a subclass of. */
    public static class Service {
        protected Store store;

        public int find(int id) {
            return store.load(id) + Integer.bitCount(sink);
        }
    }

    /** What is traced. */
    static final class Web {
        private final Service service;

        Web(Service service) {
            this.service = service;
        }

        int handle(int id) {
            return service.find(id) + Integer.bitCount(id);
        }
    }

    static int query(int id) {
        for (int i = 0; i < 100; i++) {
            sink += id ^ i;
        }
        return sink;
    }

    public static void main(String[] args) throws Exception {
        byte[] file = Files.readAllBytes(Path.of(args[0]));
        Service service = (Service) MethodHandles.lookup().defineClass(file).getDeclaredConstructor().newInstance();
        service.store = (Store) Proxy.newProxyInstance(Proxied.class.getClassLoader(), new Class<?>[] {Store.class},
                (proxy, method, arguments) -> query((Integer) arguments[0]));
        Web web = new Web(service);
        sink += web.handle(1);
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            sink += web.handle(line.length());
            System.out.println("handled");
        }
    }
}
