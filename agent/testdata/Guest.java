import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.util.concurrent.CountDownLatch;

/** Does what it is told, line by line; ends with its input. */
public class Guest {
    private static final CountDownLatch NEVER = new CountDownLatch(1);

    public static void main(String[] args) throws Exception {
        Class<?> blind = new Blind().loadClass("Lost");
        Class<?> hanging = new Hanging().loadClass("Lost");
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            int calls = Integer.parseInt(words[1]);
            int sum = 0;
            for (int i = 0; i < calls; i++) {
                sum += words[0].equals("late") ? Late.next(i) : Work.next(i);
            }
            System.out.println(words[0] + " " + sum);
        }
        System.out.println(blind == hanging); // both stay loaded until here
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
