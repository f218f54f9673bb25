import java.io.BufferedReader;
import java.io.File;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;

/** Has classes of a pack, and one that differs from the pack; carries out the commands of its input, a line each. */
public class Packed {
    /** Is given by another agent, where there is one. */
    static Instrumentation other;

    public static void premain(String argument, Instrumentation instrumentation) {
        other = instrumentation;
        if (argument != null) {
            System.setProperty("java.vm.name", argument);
        }
    }

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            System.out.println(words[0] + " " + answer(words[0], Integer.parseInt(words[1]), args));
        }
    }

    private static String answer(String what, int count, String[] folders) throws Exception {
        int sum = 0;
        switch (what) {
            case "work":
                for (int i = 0; i < count; i++) {
                    sum += PackedWork.next(i);
                }
                return "" + sum;
            case "labels":
                for (int i = 0; i < count; i++) {
                    PackedLabels.as("label " + i);
                }
                return "" + PackedLabels.calls;
            case "changed":
                return "" + PackedChanged.number();
            case "thrown":
                try {
                    PackedWork.fail(count);
                    return "nothing";
                } catch (IllegalStateException e) {
                    return "" + e.getStackTrace()[0];
                }
            case "twins":
                return twin(folders[0]) + " " + twin(folders[1]);
            case "crowd":
                return "" + crowd(count, folders);
            case "blind":
                Method number = new Blind().loadClass("PackedLost").getMethod("number");
                number.setAccessible(true);
                return "" + number.invoke(null);
            case "retransform":
                other.retransformClasses(PackedWork.class);
                return "" + other.getAllLoadedClasses().length;
            case "threads":
                for (Thread thread : Thread.getAllStackTraces().keySet()) {
                    sum += thread.getName().startsWith("sonde-") ? 1 : 0;
                }
                return "" + sum;
            default:
                throw new IllegalArgumentException(what);
        }
    }

    private static Object twin(String folder) throws Exception {
        try (URLClassLoader loader = new URLClassLoader(new URL[] {new File(folder).toURI().toURL()}, null)) {
            return loader.loadClass("PackedTwin").getMethod("number").invoke(null);
        }
    }

    /** Loads the twins at once, each by a loader of its own. */
    private static int crowd(int threads, String[] folders) throws Exception {
        CyclicBarrier all = new CyclicBarrier(threads);
        AtomicInteger sum = new AtomicInteger();
        Thread[] started = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            String folder = folders[i % 2];
            started[i] = new Thread(() -> {
                try {
                    all.await();
                    sum.addAndGet((int) twin(folder));
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            started[i].start();
        }
        for (Thread thread : started) {
            thread.join();
        }
        return sum.get();
    }

    /** Finds nothing but its class, and what that is a kind of. */
    static class Blind extends ClassLoader {
        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.equals("java.lang.Object")) {
                return super.loadClass(name, resolve);
            }
            try (InputStream in = Packed.class.getResourceAsStream(name + ".class")) {
                if (in == null) {
                    throw new ClassNotFoundException(name);
                }
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (java.io.IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }
}

class PackedWork {
    static int next(int i) {
        return i + 1;
    }

    static void fail(int i) {
        if (i > 0) {
            throw new IllegalStateException("told to"); // the line that is thrown from
        }
    }
}

class PackedLabels {
    static int calls;

    static void as(String label) {
        count();
        count();
    }

    private static void count() {
        calls++;
    }
}

class PackedChanged {
    static int number() {
        return 0x12345678;
    }
}

class PackedLost {
    public static int number() {
        return 7;
    }
}
