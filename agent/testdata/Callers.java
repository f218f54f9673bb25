import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;

/** Calls the methods of Hot in many ways, as often as its input says. */
public class Callers {
    private static final List<IntUnaryOperator> MANY = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        Hot.work(0);
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            System.out.println(words[0] + " " + call(words[0], Integer.parseInt(words[1])));
        }
    }

    private static int call(String what, int count) throws Exception {
        int sum = 0;
        switch (what) {
            case "many":
                return many(count);
            case "recursion":
                return byRecursion(count);
            case "threads":
                return inThreads(count);
            case "entry":
                return byEntry(count);
            case "overflow":
                return byOverflow();
            default:
                for (int i = 0; i < count; i++) {
                    sum += call(what);
                }
                return sum;
        }
    }

    private static int call(String what) throws Exception {
        Way way = new Derived();
        switch (what) {
            case "static":
                return byStatic();
            case "virtual":
                return new Derived().virtual();
            case "interface":
                return way.face();
            case "lambda":
                return apply(i -> Hot.work(i));
            case "reference":
                return apply(Hot::work);
            case "reflection":
                return byReflection();
            case "constructor":
                return new Maker().hot.value;
            case "throwing":
                return byThrowing();
            default:
                throw new IllegalArgumentException(what);
        }
    }

    static int byStatic() {
        return Hot.work(1);
    }

    static int apply(IntUnaryOperator operator) {
        return operator.applyAsInt(1);
    }

    static int byReflection() throws ReflectiveOperationException {
        Method work = Hot.class.getDeclaredMethod("work", int.class);
        return (int) work.invoke(null, 1) + Hot.class.getDeclaredConstructor(int.class).newInstance(1).value;
    }

    static int byRecursion(int deep) {
        return Hot.recurse(deep);
    }

    /** Uses up a stack, then calls once more with plenty of it. */
    static int byOverflow() throws InterruptedException {
        int[] overflows = new int[1];
        Thread thread = new Thread(null, () -> {
            try {
                Hot.recurse(-1);
            } catch (StackOverflowError expected) {
                overflows[0] = byStatic() - 1;
            }
        }, "deep", 1 << 18);
        thread.start();
        thread.join();
        return overflows[0];
    }

    static int byThrowing() {
        try {
            return Hot.fail(1);
        } catch (IllegalStateException expected) {
            return 1;
        }
    }

    /** Threads whose first method has the hook. */
    static int byEntry(int count) throws InterruptedException {
        for (int i = 0; i < count; i++) {
            Thread thread = new Entry();
            thread.start();
            thread.join();
        }
        return count;
    }

    /** Threads, virtual where there are such, all at once. */
    static int inThreads(int count) throws Exception {
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            threads[i] = start(new Task());
        }
        for (Thread thread : threads) {
            thread.join();
        }
        return count;
    }

    private static Thread start(Runnable task) throws ReflectiveOperationException {
        try {
            return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
        } catch (NoSuchMethodException before21) {
            Thread thread = new Thread(task);
            thread.start();
            return thread;
        }
    }

    /** Calls by as many classes of one name; they stay. */
    static int many(int count) throws Exception {
        while (MANY.size() < count) {
            Constructor<?> one = new Apart().loadClass("One").getDeclaredConstructor();
            one.setAccessible(true);
            MANY.add((IntUnaryOperator) one.newInstance());
        }
        int sum = 0;
        for (IntUnaryOperator one : MANY) {
            sum += one.applyAsInt(0);
        }
        return sum;
    }

    public static class Hot {
        final int value;

        Hot(int value) {
            this.value = value;
        }

        public static int work(int i) {
            return i + 1;
        }

        static int recurse(int deep) {
            return deep == 0 ? 0 : 1 + recurse(deep - 1);
        }

        static int fail(int i) {
            if (i > 0) {
                throw new IllegalStateException();
            }
            return i;
        }
    }

    static class Maker {
        final Hot hot;

        Maker() {
            hot = new Hot(Hot.work(1));
        }
    }

    interface Way {
        default int face() {
            return Hot.work(1);
        }
    }

    static class Base {
        int virtual() {
            return 0;
        }
    }

    static class Derived extends Base implements Way {
        @Override
        int virtual() {
            return Hot.work(1);
        }
    }

    static class Entry extends Thread {
        @Override
        public void run() {
            Hot.work(1);
        }
    }

    static class Task implements Runnable {
        @Override
        public void run() {
            for (int i = 0; i < 10; i++) {
                Hot.work(i);
            }
        }
    }

    /** Defines One itself, and delegates the rest. */
    static class Apart extends ClassLoader {
        private static byte[] bytes;

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals("One")) {
                return super.loadClass(name, resolve);
            }
            bytes = bytes == null ? read() : bytes;
            return defineClass(name, bytes, 0, bytes.length);
        }

        private static byte[] read() throws ClassNotFoundException {
            try (InputStream in = Callers.class.getResourceAsStream("One.class")) {
                return in.readAllBytes();
            } catch (IOException e) {
                throw new ClassNotFoundException("One", e);
            }
        }
    }
}

class One implements IntUnaryOperator {
    @Override
    public int applyAsInt(int i) {
        return Callers.Hot.work(i);
    }
}
