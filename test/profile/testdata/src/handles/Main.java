package handles;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import ledger.Fixture;
import ledger.Ledger;

/** Method handles: a constant made before, and others made inside the root. */
public final class Main extends Fixture {
    private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();
    private static final MethodType UNARY = MethodType.methodType(long.class, long.class);
    private static final MethodHandle FIXED_BEFORE = find();

    @Override
    public long round() throws Exception {
        try {
            return root(4);
        } catch (Exception | Error e) {
            throw e;
        } catch (Throwable t) {
            throw new IllegalStateException(t);
        }
    }

    static long root(int times) throws Throwable {
        Ledger.Call call = Ledger.root("handles/Main.root(I)J");
        long sum = 0;
        for (int i = 0; i < times; i++) {
            sum += madeBefore(i) + madeInside(i) + combined(i);
        }
        return Ledger.out(call, sum);
    }

    private static long madeBefore(int i) throws Throwable {
        Ledger.Call call = Ledger.in("handles/Main.madeBefore(I)J");
        long sum = (long) FIXED_BEFORE.invokeExact((long) i, 1.5) + (long) FIXED_BEFORE.invoke(i, 2.5f);
        return Ledger.out(call, sum);
    }

    private static long madeInside(int i) throws Throwable {
        Ledger.Call call = Ledger.in("handles/Main.madeInside(I)J");
        MethodHandle virtual = LOOKUP.findVirtual(Target.class, "virtual", UNARY);
        MethodHandle maker = LOOKUP.findConstructor(Target.class, MethodType.methodType(void.class, long.class));
        Target made = (Target) maker.invokeExact((long) i);
        Target derived = new Target.Derived();
        long sum = (long) virtual.invokeExact(made, 3L) + (long) virtual.invokeExact(derived, 4L);
        return Ledger.out(call, sum + (long) find().invokeExact((long) i, 0.5));
    }

    private static long combined(int i) throws Throwable {
        Ledger.Call call = Ledger.in("handles/Main.combined(I)J");
        MethodHandle bound = MethodHandles.insertArguments(find(), 1, 2.5);
        MethodHandle guarded = MethodHandles.catchException(LOOKUP.findStatic(Target.class, "throwing", UNARY),
                IllegalArgumentException.class, LOOKUP.findStatic(Target.class, "catching",
                        MethodType.methodType(long.class, IllegalArgumentException.class, long.class)));
        long sum = (long) bound.invokeExact((long) i) + (long) guarded.invokeExact((long) i);
        return Ledger.out(call, sum);
    }

    private static MethodHandle find() {
        try {
            return LOOKUP.findStatic(Target.class, "fixed", MethodType.methodType(long.class, long.class, double.class));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
