import java.io.BufferedReader;
import java.io.File;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** Carries out the commands of its input, a line each. */
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
            case "laminate":
                return Laminate.next(i);
            case "exists":
                return new File("/").exists() ? 1 : 0;
            case "interrupt":
                return interrupt("sonde-standby");
            case "interrupted":
                Thread.currentThread().interrupt();
                Work.next(i);
                return Thread.interrupted() ? 1 : 0;
            case "permit":
                LockSupport.unpark(Thread.currentThread());
                Work.next(i);
                LockSupport.park(); // for ever, if the permit is lost
                return 1;
            case "threads":
                return inThreads(2);
            case "mirror":
                return Mirror.next(i);
            default:
                if (what.startsWith("forge:")) {
                    return forge(what.split(":")[1], Long.parseLong(what.split(":")[2]), i);
                }
                return what.startsWith("control:") ? control(what.substring(what.indexOf(':') + 1)) : Work.next(i);
        }
    }

    /** Calls all methods of a class that anybody may call, without being the agent; returns how many did not object. */
    private static int control(String name) {
        int allowed = 0;
        try {
            for (Method method : Class.forName(name).getMethods()) {
                if (!Modifier.isStatic(method.getModifiers())) {
                    continue;
                }
                Class<?>[] types = method.getParameterTypes();
                Object[] values = new Object[types.length];
                for (int i = 0; i < types.length; i++) {
                    values[i] = types[i].isPrimitive() ? Array.get(Array.newInstance(types[i], 1), 0) : null;
                }
                try {
                    method.invoke(null, values);
                    allowed++;
                } catch (InvocationTargetException e) {
                    if (!(e.getCause() instanceof SecurityException)) {
                        allowed++;
                    }
                }
            }
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
        return allowed;
    }

    /** Calls the exits of hooks with tokens that no hook has returned, all of them with an epoch; returns how many. */
    private static int forge(String hooks, long epoch, int seed) {
        final int calls = 20000;
        Random random = new Random(seed);
        try {
            Method exit = Class.forName(hooks).getMethod("exit", long.class);
            Method fail = Class.forName(hooks).getMethod("fail", long.class, int.class);
            Class<?> trace = Class.forName(hooks + "Trace");
            Method elapsed = trace.getMethod("elapsed", long.class);
            Method capture = trace.getMethod("capture", long.class, int.class, String.class);
            Method settle = trace.getMethod("settle", long.class, int.class, int.class, boolean.class);
            Method loud = Class.forName(hooks + "Watch").getMethod("loud", long.class);
            for (int i = 0; i < calls; i++) {
                // The place of this thread or any; any kind of token; a depth or a node that may be there, or any.
                long place = i % 2 == 0 ? Thread.currentThread().getId() : random.nextInt(1 << 17);
                long named = i % 3 == 0 ? random.nextInt(8) : i % 3 == 1 ? random.nextInt(1 << 14) : random.nextInt(1 << 24);
                long token = epoch << 43 | place << 26 | (long) random.nextInt(4) << 24 | named;
                switch (random.nextInt(6)) {
                    case 0:
                        fail.invoke(null, token, 1);
                        break;
                    case 1:
                        elapsed.invoke(null, token);
                        break;
                    case 2:
                        capture.invoke(null, token, 0, "x");
                        break;
                    case 3:
                        settle.invoke(null, token, 1, 0, false);
                        break;
                    case 4:
                        loud.invoke(null, token & ~0xffffL);
                        break;
                    default:
                        exit.invoke(null, token);
                }
            }
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
        return calls;
    }

    /** Calls Work in threads that are virtual where there are such. */
    private static int inThreads(int count) {
        Thread[] threads = new Thread[count];
        try {
            for (int i = 0; i < count; i++) {
                threads[i] = start(() -> Work.next(0));
            }
            for (Thread thread : threads) {
                thread.join();
            }
        } catch (ReflectiveOperationException | InterruptedException e) {
            throw new IllegalStateException(e);
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
        final int one;

        Work(String[] names, long one) {
            this.one = (int) one;
        }

        static int next(int i) {
            return i + 1;
        }

        static int other(int i) {
            return i;
        }
    }

    /** Calls Work in ways that are known only at run time. */
    static class Mirror {
        static int next(int i) {
            try {
                MethodType type = MethodType.methodType(int.class, int.class);
                return (int) Work.class.getDeclaredMethod("next", int.class).invoke(null, i)
                        + Work.class.getDeclaredConstructor(String[].class, long.class).newInstance(null, 1L).one
                        + (int) MethodHandles.lookup().findStatic(Work.class, "other", type).invokeExact(i);
            } catch (Throwable t) {
                throw new IllegalStateException(t);
            }
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

class Laminate {
    static int next(int i) {
        return i + 3;
    }
}

class Lost {
}
