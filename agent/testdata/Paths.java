import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Methods that call each other at random, and keep by themselves which are on the stack: at each call of the one that
 * is watched they say for which sequences that is a call. Ends with its input.
 */
public class Paths {
    /** Elements, and behind each how the next is reached: * somewhere below, / directly. The last is the watched one. */
    static final String[] SEQUENCES = {"A*", "A/", "A*B*", "A/B*", "A*B/C/", "A*A/", "P*", "L/", "A/A/A*", "A/L*"};
    private static final int DEEP = 14;
    private static volatile AtomicLongArray truth;
    private static Method watched;

    public static void main(String[] args) throws Exception {
        watched = Paths.class.getDeclaredMethod("p", Walk.class);
        truth = new AtomicLongArray(SEQUENCES.length + 1);
        new Walk(1).go(3);
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            int count = Integer.parseInt(words[1]);
            truth = new AtomicLongArray(SEQUENCES.length + 1);
            switch (words[0]) {
                case "walk":
                    new Walk(count).go(400);
                    break;
                case "threads":
                    inThreads(count);
                    break;
                case "overflow":
                    overflow();
                    break;
                default:
                    throw new IllegalArgumentException(line);
            }
            StringBuilder told = new StringBuilder(words[0]);
            for (int i = 0; i < truth.length(); i++) {
                told.append(' ').append(truth.get(i));
            }
            System.out.println(told);
        }
    }

    private static void inThreads(int count) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Walk walk = new Walk(1000 + i);
            threads.add(start(() -> walk.go(20)));
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    /** Virtual where there are such, every second one. */
    private static Thread start(Runnable task) throws ReflectiveOperationException {
        if (task.hashCode() % 2 == 0) {
            try {
                return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
            } catch (NoSuchMethodException before21) {
                // a platform thread, then
            }
        }
        Thread thread = new Thread(task);
        thread.start();
        return thread;
    }

    /** Uses up a stack of anchors; behind it none is on the stack any more. */
    private static void overflow() throws InterruptedException {
        Thread thread = new Thread(null, () -> {
            for (int i = 0; i < 3; i++) {
                try {
                    endless(new Walk(i));
                } catch (StackOverflowError expected) {
                    new Walk(7).go(5);
                }
            }
        }, "deep", 1 << 18);
        thread.start();
        thread.join();
    }

    static void endless(Walk walk) {
        deeper(walk);
    }

    static void deeper(Walk walk) {
        walk.enter('A');
        try {
            endless(walk);
        } finally {
            walk.leave();
        }
    }

    static void a(Walk walk) {
        walk.enter('A');
        try {
            for (int n = walk.calls(); n > 0; n--) {
                switch (walk.next()) {
                    case 0: a(walk); break;
                    case 1: b(walk); break;
                    case 2: c(walk); break;
                    case 3: p(walk); break;
                    case 4: x(walk); break;
                    case 5: // frames of reflection are none
                        try {
                            watched.invoke(null, walk);
                        } catch (InvocationTargetException e) {
                            throw (IllegalStateException) e.getCause();
                        } catch (IllegalAccessException e) {
                            throw new AssertionError(e);
                        }
                        break;
                    case 6: walk.bridged.call(walk); break;
                    default: walk.caught();
                }
            }
        } finally {
            walk.leave();
        }
    }

    static void b(Walk walk) {
        walk.enter('B');
        try {
            for (int n = walk.calls(); n > 0; n--) {
                switch (walk.next()) {
                    case 0: a(walk); break;
                    case 1: b(walk); break;
                    case 2: c(walk); break;
                    case 3: p(walk); break;
                    case 4: x(walk); break;
                    case 5: d(walk); break;
                    case 6: walk.bridged.call(walk); break;
                    default: walk.caught();
                }
            }
        } finally {
            walk.leave();
        }
    }

    static void c(Walk walk) {
        walk.enter('C');
        try {
            for (int n = walk.calls(); n > 0; n--) {
                switch (walk.next()) {
                    case 0: a(walk); break;
                    case 1: b(walk); break;
                    case 2: c(walk); break;
                    case 3: p(walk); break;
                    default: x(walk);
                }
            }
        } finally {
            walk.leave();
        }
    }

    /** Not an anchor. */
    static void x(Walk walk) {
        walk.enter('X');
        try {
            for (int n = walk.calls(); n > 0; n--) {
                switch (walk.next()) {
                    case 0: a(walk); break;
                    case 1: b(walk); break;
                    case 2: c(walk); break;
                    default: p(walk);
                }
            }
        } finally {
            walk.leave();
        }
    }

    /** Watched, and an anchor. */
    static void p(Walk walk) {
        walk.told();
        walk.enter('P');
        try {
            for (int n = walk.calls(); n > 0; n--) {
                if (walk.next() < 2) {
                    a(walk);
                } else {
                    x(walk);
                }
            }
            walk.fail();
        } finally {
            walk.leave();
        }
    }

    interface Called<T> {
        void call(T argument);
    }

    /** What is called is a bridge, and that calls an anchor, which calls what is watched. */
    static class Bridged implements Called<Walk> {
        @Override
        public void call(Walk walk) {
            walk.enter('L');
            try {
                p(walk);
                walk.told.call(walk);
            } finally {
                walk.leave();
            }
        }
    }

    static void d(Walk walk) {
        walk.enter('D');
        try {
            walk.told.call(walk);
        } finally {
            walk.leave();
        }
    }

    /** Watched itself, where d calls it: through a bridge. */
    static class Told implements Called<Walk> {
        @Override
        public void call(Walk walk) {
            if (walk.top() == 'D') {
                truth.getAndIncrement(SEQUENCES.length);
            }
        }
    }

    static final class Walk {
        final Called<Walk> bridged = new Bridged();
        final Called<Walk> told = new Told();
        private final Random random;
        private char[] stack = new char[64];
        private int depth;

        Walk(int seed) {
            random = new Random(seed);
        }

        void go(int rounds) {
            for (int i = 0; i < rounds; i++) {
                try {
                    switch (next()) {
                        case 0: b(this); break;
                        case 1: c(this); break;
                        case 2: x(this); break;
                        case 3: p(this); break;
                        default: a(this);
                    }
                } catch (IllegalStateException expected) {
                    // thrown through all of it
                }
            }
        }

        void enter(char what) {
            if (depth == stack.length) {
                stack = java.util.Arrays.copyOf(stack, 2 * depth);
            }
            stack[depth++] = what;
        }

        void leave() {
            depth--;
        }

        char top() {
            return stack[depth - 1];
        }

        int calls() {
            return depth >= DEEP ? 0 : random.nextInt(3);
        }

        int next() {
            return random.nextInt(8);
        }

        void fail() {
            if (random.nextInt(20) == 0) {
                throw new IllegalStateException();
            }
        }

        /** Its own frame is in between. */
        void caught() {
            enter('X');
            try {
                a(this);
            } catch (IllegalStateException expected) {
                // goes on behind it
            } finally {
                leave();
            }
        }

        void told() {
            for (int i = 0; i < SEQUENCES.length; i++) {
                if (holds(SEQUENCES[i])) {
                    truth.getAndIncrement(i);
                }
            }
        }

        /** By what a sequence means: which frames can be its elements, from the first on. */
        private boolean holds(String sequence) {
            boolean[] can = new boolean[depth];
            for (int element = 0; element < sequence.length(); element += 2) {
                boolean[] next = new boolean[depth];
                boolean before = element == 0;
                for (int at = 0; at < depth; at++) {
                    boolean reached = element == 0 || (sequence.charAt(element - 1) == '/' ? at > 0 && can[at - 1] : before);
                    next[at] = reached && stack[at] == sequence.charAt(element);
                    before |= can[at];
                }
                can = next;
            }
            boolean any = false;
            for (int at = 0; at < depth; at++) {
                any |= can[at] && (sequence.endsWith("*") || at == depth - 1);
            }
            return any;
        }
    }
}
