package typed;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** Calls methods of classes that implement an interface, are annotated, or call a method, as often as it is told. */
public final class Main {
    interface Store {
        void put(int n);

        default void putTwice(int n) {
            put(n);
            put(n);
        }
    }

    /** Is not loaded at first. The class that implements it begins to load before. */
    interface Plugin {
        void plug();
    }

    interface Handler<T> {
        void handle(T t);
    }

    @Retention(RetentionPolicy.RUNTIME)
    @interface Timed {
    }

    /** Is in the class file, but not visible at run time. */
    @Retention(RetentionPolicy.CLASS)
    @interface Traced {
    }

    abstract static class Base implements Store {
    }

    static final class Memory extends Base {
        static int stored;

        @Override
        public void put(int n) {
            stored += n;
        }

        public void put(long n) {
            stored += 1;
        }
    }

    static class Writer {
        public void put(int n) {
            Target.hit();
        }
    }

    /** Inherits what it has to implement. */
    static final class File extends Writer implements Store {
    }

    static final class Strings implements Handler<String> {
        @Override
        public void handle(String s) {
            Memory.stored += s.length();
        }
    }

    static final class Target {
        static int hits;

        static void hit() {
            hits++;
        }
    }

    @Traced
    static final class Clock {
        int ticks;

        void tick() {
            ticks++;
        }
    }

    static final class Work {
        int done;

        @Timed
        void timed() {
            done++;
        }

        void plain() {
            done++;
            Target.hit();
        }
    }

    static final class Late implements Store {
        @Override
        public void put(int n) {
            Memory.stored -= n;
        }

        @Timed
        void timed() {
            Memory.stored++;
            Target.hit();
        }
    }

    abstract static class LateBase implements Store {
    }

    /** Begins to load before the class that implements the interface. */
    static final class LateDeep extends LateBase {
        @Override
        public void put(int n) {
            Memory.stored -= n;
        }
    }

    static class OtherBase {
    }

    /** Looks the same until the class above it has loaded. */
    static final class LateOther extends OtherBase {
        public void put(int n) {
            Memory.stored -= n;
        }
    }

    static final class LatePlugin implements Plugin {
        @Override
        public void plug() {
            Memory.stored++;
        }
    }

    private Main() {
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        Memory memory = new Memory();
        File file = new File();
        Clock clock = new Clock();
        Work work = new Work();
        Handler<String> strings = new Strings();
        Store lambda = n -> Memory.stored += n;
        run(0, memory, file, lambda, clock, work, strings);
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            int times = Integer.parseInt(words[1]);
            if (words[0].equals("late")) {
                late(times);
            } else if (words[0].equals("plug")) {
                Plugs.plug(times);
            } else {
                run(times, memory, file, lambda, clock, work, strings);
            }
            System.out.println("done");
        }
    }

    private static void run(int times, Memory memory, File file, Store lambda, Clock clock, Work work, Handler<String> strings) {
        for (int i = 0; i < times; i++) {
            memory.put(i);
            memory.put((long) i);
            file.put(i);
            file.putTwice(i);
            lambda.put(i);
            clock.tick();
            work.timed();
            work.plain();
            strings.handle("x");
        }
    }

    private static void late(int times) {
        Late late = new Late();
        LateDeep deep = new LateDeep();
        LateOther other = new LateOther();
        for (int i = 0; i < times; i++) {
            late.put(i);
            late.timed();
            deep.put(i);
            other.put(i);
        }
    }

    /** Is apart from the main class, because verifying that would load the interface. */
    static final class Plugs {
        private static final LatePlugin PLUGIN = new LatePlugin();

        static void plug(int times) {
            for (int i = 0; i < times; i++) {
                PLUGIN.plug();
            }
        }
    }
}
