package proxies;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/** Calls an interface that only a proxy implements. */
public class Proxied {
    interface Store {
        String find(int id);
    }

    static class Answering implements InvocationHandler {
        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) {
            return answer(arguments);
        }

        private static String answer(Object[] arguments) {
            return "item " + arguments[0];
        }
    }

    static String serve(Store store) {
        return store.find(7);
    }

    public static void main(String[] args) throws Exception {
        Object store = Proxy.newProxyInstance(Proxied.class.getClassLoader(), new Class<?>[] {Store.class}, new Answering());
        System.out.println(serve((Store) store).equals("item 7") ? "ready" : "wrong");
        System.in.read();
    }
}
