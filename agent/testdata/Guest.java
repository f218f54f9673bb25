import java.io.BufferedReader;
import java.io.File;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.util.concurrent.CountDownLatch;

/** Does what it is told, line by line; ends with its input. */
public class Guest {
    private static final CountDownLatch NEVER = new CountDownLatch(1);

    public static void main(String[] args) throws Exception {
        Class<?> blind = new Blind().loadClass("Lost");
        Class<?> hanging = new Hanging().loadClass("Lost");
        Class<?> endless = new Endless().loadClass("Lost");
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            int calls = Integer.parseInt(words[1]);
            int sum = 0;
            for (int i = 0; i < calls; i++) {
                sum += call(words[0], i);
            }
            System.out.println(words[0] + " " + sum);
        }
        System.out.println(blind == hanging || hanging == endless); // all stay loaded until here
    }

    private static int call(String what, int i) {
        switch (what) {
            case "late":
                return Late.next(i);
            case "exists":
                return new File("/").exists() ? 1 : 0;
            case "interrupt":
                return interrupt("sonde-standby");
            default:
                return Work.next(i);
        }
    }

    private static int interrupt(String name) {
        int interrupted = 0;
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().equals(name)) {
                thread.interrupt();
                interrupted++;
            }
        }
        return interrupted;
    }

    static class Work {
        static int next(int i) {
            return i + 1;
        }
    }

    /** Defines Lost itself, and delegates the rest. */
    static class Own extends ClassLoader {
        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            Class<?> found = findLoadedClass(name);
            if (found != null || !name.equals("Lost")) {
                return found != null ? found : super.loadClass(name, resolve);
            }
            try (InputStream in = Guest.class.getResourceAsStream("Lost.class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (java.io.IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    /** Hides what it does not know. */
    static class Blind extends Own {
        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals("Lost") && !name.equals("java.lang.Object")) {
                throw new ClassNotFoundException(name);
            }
            return super.loadClass(name, resolve);
        }

        @Override
        public InputStream getResourceAsStream(String name) {
            return null;
        }
    }

    /** Has no end to what it gives. */
    static class Endless extends Own {
        @Override
        public InputStream getResourceAsStream(String name) {
            return new InputStream() {
                @Override
                public int read() {
                    return 0;
                }

                @Override
                public int read(byte[] into, int offset, int count) {
                    return count;
                }
            };
        }
    }

    /** Answers nobody. */
    static class Hanging extends Own {
        @Override
        public InputStream getResourceAsStream(String name) {
            try {
                NEVER.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            return null;
        }
    }
}

class Late {
    static int next(int i) {
        return i + 2;
    }
}

class Lost {
}
