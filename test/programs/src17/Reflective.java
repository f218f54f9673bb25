import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.function.IntUnaryOperator;

/** Methods reached by reflection, method handles, variable handles and proxies. */
public final class Reflective {
    private int field = 3;

    private Reflective(int n) {
        if (n < 0) {
            throw new IllegalArgumentException("negative");
        }
        field += n;
    }

    private long secret(int a, long b) {
        return a * b + field;
    }

    static double half(double d) {
        if (d == 0) {
            throw new ArithmeticException("zero");
        }
        return d / 2;
    }

    interface Service {
        String greet(String who, int times);

        default String twice(String who) {
            return greet(who, 2);
        }

        void close() throws java.io.IOException;
    }

    static final class Handler implements InvocationHandler {
        @Override
        public Object invoke(Object proxy, Method method, Object[] args) throws Throwable {
            if (method.isDefault()) {
                return InvocationHandler.invokeDefault(proxy, method, args);
            }
            if (method.getName().equals("close")) {
                throw new java.io.IOException("closed");
            }
            return method.getName() + "(" + args[0] + "," + args[1] + ")";
        }
    }

    public static void main(String[] args) throws Throwable {
        Constructor<Reflective> constructor = Reflective.class.getDeclaredConstructor(int.class);
        Reflective object = constructor.newInstance(4);
        Method secret = Reflective.class.getDeclaredMethod("secret", int.class, long.class);
        for (int i = 0; i < 40; i++) {
            // More often than the limit at which reflection turns to generated code.
            secret.invoke(object, i, 10L);
        }
        System.out.println(secret.invoke(object, 2, 100L));
        Method half = Reflective.class.getDeclaredMethod("half", double.class);
        System.out.println(half.invoke(null, 5.0));
        try {
            half.invoke(null, 0.0);
        } catch (InvocationTargetException e) {
            System.out.println("target: " + e.getCause() + " at " + e.getCause().getStackTrace()[0]);
        }
        try {
            constructor.newInstance(-1);
        } catch (InvocationTargetException e) {
            System.out.println("target: " + e.getCause());
        }
        try {
            half.invoke(null, "text");
        } catch (IllegalArgumentException e) {
            System.out.println("argument refused");
        }
        Field field = Reflective.class.getDeclaredField("field");
        field.setInt(object, 11);
        System.out.println(field.getInt(object));
        handles(object);
        proxies();
    }

    static void handles(Reflective object) throws Throwable {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        MethodHandle secret = lookup.findVirtual(Reflective.class, "secret", MethodType.methodType(long.class, int.class, long.class));
        System.out.println((long) secret.invokeExact(object, 3, 5L) + " " + secret.bindTo(object).invoke(1, 2));
        MethodHandle half = lookup.findStatic(Reflective.class, "half", MethodType.methodType(double.class, double.class));
        MethodHandle quarter = MethodHandles.filterReturnValue(half, half);
        System.out.println((double) quarter.invokeExact(10.0));
        MethodHandle safe = MethodHandles.catchException(half, ArithmeticException.class,
                MethodHandles.dropArguments(MethodHandles.constant(double.class, -1.0), 0, ArithmeticException.class, double.class));
        System.out.println((double) safe.invokeExact(0.0));
        MethodHandle make = lookup.findConstructor(Reflective.class, MethodType.methodType(void.class, int.class));
        System.out.println(((Reflective) make.invoke(1)).field);
        VarHandle handle = lookup.findVarHandle(Reflective.class, "field", int.class);
        System.out.println(handle.compareAndSet(object, 11, 12) + " " + (int) handle.getAndAdd(object, 5) + " " + object.field);
        IntUnaryOperator through = n -> {
            try {
                return (int) (long) secret.invokeExact(object, n, 1L);
            } catch (Throwable e) {
                throw new IllegalStateException(e);
            }
        };
        System.out.println(through.applyAsInt(9));
    }

    static void proxies() throws Exception {
        Service service = (Service) Proxy.newProxyInstance(Reflective.class.getClassLoader(), new Class<?>[] {Service.class}, new Handler());
        System.out.println(service.greet("you", 1) + " " + service.twice("them"));
        try {
            service.close();
        } catch (java.io.IOException e) {
            System.out.println("proxy threw " + e.getMessage());
        }
    }
}
