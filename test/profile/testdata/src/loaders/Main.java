package loaders;

import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.function.LongUnaryOperator;
import ledger.Fixture;
import ledger.Ledger;

/**
 * One class, loaded by several loaders: by one before the root begins, by two inside it. The
 * program says by the property profile.fresh where the class lies.
 */
public final class Main extends Fixture {
    private final LongUnaryOperator before = load();
    private LongUnaryOperator[] inside;

    /** Loads the class once. */
    public Main() throws Exception {
        before.applyAsLong(1);
    }

    @Override
    public long round() throws Exception {
        return root();
    }

    private synchronized long root() throws Exception {
        Ledger.Call call = Ledger.root("loaders/Main.root()J");
        if (inside == null) {
            inside = new LongUnaryOperator[] {load(), load()};
        }
        long sum = run(before);
        for (LongUnaryOperator task : inside) {
            sum += run(task);
        }
        return Ledger.out(call, sum);
    }

    private static long run(LongUnaryOperator task) {
        Ledger.Call call = Ledger.in("loaders/Main.run(Ljava/util/function/LongUnaryOperator;)J");
        return Ledger.out(call, task.applyAsLong(3) + task.applyAsLong(4));
    }

    private static LongUnaryOperator load() throws Exception {
        Ledger.Call call = Ledger.in("loaders/Main.load()Ljava/util/function/LongUnaryOperator;");
        URL[] classes = {Path.of(System.getProperty("profile.fresh")).toUri().toURL()};
        // Never closed: the class loads others when it first calls them.
        URLClassLoader loader = new URLClassLoader(classes, Main.class.getClassLoader());
        Object task = loader.loadClass("loaders.Task").getDeclaredConstructor().newInstance();
        Ledger.out(call);
        return (LongUnaryOperator) task;
    }
}
