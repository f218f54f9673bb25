import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Calls the hooks as woven methods do, step by step, as its input says. A line is
 *
 * <pre>
 * hooks CLASS                 which hooks
 * THREAD STEP STEP ...        steps of a thread, answered by "THREAD" and what became of each
 * THREAD .                    the end of a thread
 * </pre>
 *
 * A thread whose name begins with v is virtual where there are such. Steps act on the innermost call: eID enters, x
 * and f exit, sN and SN settle with a verdict, q asks whether values are captured, cI:TEXT captures one (cI:- null),
 * g goes away without an exit, d asks whether time has passed. t names the transaction of the thread, jN joins the one
 * named N (0 is none), p parts, hCOUNT:ID enters and exits COUNT times.
 */
public class Traces {
    private static Class<?> hooks;
    private static Class<?> trace;
    private static Class<?> places;
    private static final Map<String, Long> NAMED = new ConcurrentHashMap<>();

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        Map<String, Worker> workers = new HashMap<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("hooks")) {
                hooks = Class.forName(words[1], true, null);
                trace = Class.forName(words[1] + "Trace", true, null);
                places = Class.forName(words[1] + "Places", true, null);
                System.out.println("hooks ready");
                continue;
            }
            Worker worker = workers.get(words[0]);
            if (worker == null) {
                worker = new Worker();
                worker.thread = start(words[0], worker);
                workers.put(words[0], worker);
            }
            worker.scripts.put(words);
            System.out.println(words[0] + " " + worker.results.take());
            if (words[1].equals(".")) {
                worker.thread.join();
                workers.remove(words[0]);
            }
        }
        System.exit(0);
    }

    private static Thread start(String name, Runnable work) throws ReflectiveOperationException {
        if (name.startsWith("v")) {
            try {
                return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, work);
            } catch (NoSuchMethodException before21) {
                // A platform thread does.
            }
        }
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** What one thread does. */
    private static class Worker implements Runnable {
        final LinkedBlockingQueue<String[]> scripts = new LinkedBlockingQueue<>();
        final LinkedBlockingQueue<String> results = new LinkedBlockingQueue<>();
        private final ArrayDeque<long[]> calls = new ArrayDeque<>();
        Thread thread;

        @Override
        public void run() {
            boolean ended = false;
            while (!ended) {
                String result;
                try {
                    result = steps(scripts.take());
                } catch (Throwable t) {
                    result = "failed: " + t;
                }
                ended = result.endsWith(" .");
                results.add(result);
            }
        }

        private String steps(String[] words) throws Exception {
            List<String> all = new ArrayList<>();
            for (int i = 1; i < words.length; i++) {
                all.add(words[i].equals(".") ? "." : step(words[i].charAt(0), words[i].substring(1)));
            }
            return "did " + String.join(" ", all);
        }

        private String step(char what, String rest) throws Exception {
            long token = calls.isEmpty() ? 0 : calls.peek()[0];
            int id = calls.isEmpty() ? 0 : (int) calls.peek()[1];
            switch (what) {
                case 'e':
                    return enter(Integer.parseInt(rest));
                case 'x':
                    calls.pop();
                    call(hooks, "exit", token);
                    return "-";
                case 'f':
                    calls.pop();
                    call(hooks, "fail", token, id);
                    return "-";
                case 's':
                case 'S':
                    calls.pop();
                    call(trace, "settle", token, id, Integer.parseInt(rest), what == 'S');
                    return "-";
                case 'g':
                    calls.pop();
                    return "-";
                case 'q':
                    return String.valueOf(call(trace, "captures", token));
                case 'd':
                    return String.valueOf((long) call(trace, "elapsed", token) > 0);
                case 'c':
                    int colon = rest.indexOf(':');
                    String text = rest.substring(colon + 1);
                    call(trace, "capture", token, Integer.parseInt(rest.substring(0, colon)), text.equals("-") ? null : text);
                    return "-";
                case 'h':
                    return repeat(rest.split(":"));
                default:
                    return hand(what, rest);
            }
        }

        private String enter(int id) throws Exception {
            long token = (long) call(hooks, "enter", id);
            calls.push(new long[] {token, id});
            return token <= 3 ? String.valueOf(token) : (token & 0x1000000) != 0 ? "F" : "N";
        }

        private String repeat(String[] words) throws Exception {
            Method enter = find(hooks, "enter");
            Method exit = find(hooks, "exit");
            int framed = 0;
            for (int i = Integer.parseInt(words[0]); i > 0; i--) {
                long token = (long) enter.invoke(null, Integer.parseInt(words[1]));
                framed += token > 3 ? 1 : 0;
                exit.invoke(null, token);
            }
            return String.valueOf(framed);
        }

        /** The transaction is asked for, joined and parted from by place. */
        private String hand(char what, String rest) throws Exception {
            java.lang.reflect.Field key = hooks.getDeclaredField("U");
            key.setAccessible(true);
            long tid = (long) call(Class.forName(hooks.getName() + "Control", true, null), "tid", key.get(null), Thread.currentThread());
            int index = (int) call(places, "claim", tid);
            Object table = call(places, "table", index);
            long place = (long) call(places, "offset", index);
            switch (what) {
                case 't':
                    long transaction = (long) call(trace, "transaction", table, place);
                    if (transaction != 0) {
                        NAMED.put(rest, transaction);
                    }
                    return transaction != 0 ? "T" : "0";
                case 'j':
                    call(trace, "join", table, place, rest.equals("0") ? 0L : (long) NAMED.get(rest));
                    return "-";
                case 'p':
                    call(trace, "part", table, place);
                    return "-";
                default:
                    throw new IllegalArgumentException(what + rest);
            }
        }
    }

    private static Object call(Class<?> where, String name, Object... arguments) throws ReflectiveOperationException {
        for (Method method : where.getDeclaredMethods()) {
            Class<?>[] types = method.getParameterTypes();
            if (method.getName().equals(name) && types.length == arguments.length && fits(types, arguments)) {
                method.setAccessible(true);
                return method.invoke(null, arguments);
            }
        }
        throw new NoSuchMethodException(name);
    }

    private static boolean fits(Class<?>[] types, Object[] arguments) {
        for (int i = 0; i < types.length; i++) {
            boolean isLong = arguments[i] instanceof Long;
            if (types[i].isPrimitive() ? isLong != (types[i] == long.class) || arguments[i] == null
                    : arguments[i] != null && !types[i].isInstance(arguments[i])) {
                return false;
            }
        }
        return true;
    }

    private static Method find(Class<?> where, String name) throws NoSuchMethodException {
        for (Method method : where.getDeclaredMethods()) {
            if (method.getName().equals(name)) {
                method.setAccessible(true);
                return method;
            }
        }
        throw new NoSuchMethodException(name);
    }
}
