package dynamic;

import harness.Tally;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.function.LongUnaryOperator;

/** Classes made while the program runs: proxies and hidden ones. */
final class Generated {
    static final int INVOKE = Tally.exact(Handler.class, "invoke", 20, 10);
    static final int HIDDEN = Tally.register("dynamic/Secret.applyAsLong(J)J", Tally.Trust.HIDDEN, 10, 0);
    static final int CALLED = Tally.exact(Generated.class, "calledByHidden", 10, 0);

    interface Service {
        long serve(long x);

        void fail();
    }

    static final class Handler implements InvocationHandler {
        @Override
        public Object invoke(Object proxy, Method method, Object[] args) throws Throwable {
            Tally.in(INVOKE);
            if (method.getName().equals("fail")) {
                throw Tally.out(INVOKE, new Exception("a proxy wraps this"));
            }
            return (Long) args[0] + 1;
        }
    }

    private Generated() {
    }

    static long calledByHidden(long x) {
        Tally.in(CALLED);
        return x * 3;
    }

    static long work() throws Exception {
        long sum = 0;
        Service service = (Service) Proxy.newProxyInstance(Generated.class.getClassLoader(),
                new Class<?>[] {Service.class}, new Handler());
        for (int i = 0; i < 10; i++) {
            sum += service.serve(i);
            try {
                service.fail();
            } catch (java.lang.reflect.UndeclaredThrowableException e) {
                sum += e.getCause().getMessage().length();
            }
        }
        byte[] bytes;
        try (InputStream in = Generated.class.getResourceAsStream("Secret.class")) {
            bytes = in.readAllBytes();
        }
        Class<?> hidden = MethodHandles.lookup().defineHiddenClass(bytes, true).lookupClass();
        LongUnaryOperator operator = (LongUnaryOperator) hidden.getDeclaredConstructor().newInstance();
        for (int i = 0; i < 10; i++) {
            sum += operator.applyAsLong(i);
        }
        return sum;
    }
}
