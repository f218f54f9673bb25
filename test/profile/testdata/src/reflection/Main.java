package reflection;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import ledger.Fixture;
import ledger.Ledger;

/** Core reflection, past the point where the JDK generates code for it; made before, and inside the root. */
public final class Main extends Fixture {
    private static final int TIMES = 20;
    private static final Method FIXED_BEFORE = method("fixed", long.class);
    private static final Method VIRTUAL_BEFORE = method("virtual", int.class, String.class);
    private static final Constructor<Target> MAKER_BEFORE = maker();

    @Override
    public long round() throws Exception {
        return root();
    }

    static long root() throws Exception {
        Ledger.Call call = Ledger.root("reflection/Main.root()J");
        long sum = madeBefore() + madeInside() + throwing();
        return Ledger.out(call, sum);
    }

    private static long madeBefore() throws Exception {
        Ledger.Call call = Ledger.in("reflection/Main.madeBefore()J");
        long sum = use(FIXED_BEFORE, VIRTUAL_BEFORE, MAKER_BEFORE);
        return Ledger.out(call, sum);
    }

    private static long madeInside() throws Exception {
        Ledger.Call call = Ledger.in("reflection/Main.madeInside()J");
        long sum = use(method("fixed", long.class), method("virtual", int.class, String.class), maker());
        return Ledger.out(call, sum);
    }

    private static long use(Method fixed, Method virtual, Constructor<Target> maker) throws Exception {
        Ledger.Call call = Ledger.in("reflection/Main.use(" + "Ljava/lang/reflect/Method;".repeat(2)
                + "Ljava/lang/reflect/Constructor;)J");
        long sum = 0;
        for (int i = 0; i < TIMES; i++) {
            sum += (Long) fixed.invoke(null, (long) i);
            sum += (Long) virtual.invoke(maker.newInstance(4L), i, "text");
        }
        sum += (Long) virtual.invoke(new Target.Derived(), 1, "text");
        return Ledger.out(call, sum);
    }

    private static long throwing() throws Exception {
        Ledger.Call call = Ledger.in("reflection/Main.throwing()J");
        long sum = 0;
        for (int i = 0; i < TIMES; i++) {
            try {
                method("throwing").invoke(null);
            } catch (InvocationTargetException e) {
                sum += e.getCause().getMessage().length();
            }
        }
        return Ledger.out(call, sum);
    }

    private static Method method(String name, Class<?>... parameters) {
        try {
            return Target.class.getDeclaredMethod(name, parameters);
        } catch (NoSuchMethodException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Constructor<Target> maker() {
        try {
            return Target.class.getDeclaredConstructor(long.class);
        } catch (NoSuchMethodException e) {
            throw new IllegalStateException(e);
        }
    }
}
