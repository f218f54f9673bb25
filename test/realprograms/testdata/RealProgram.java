import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Runs somebody else's program in rounds whose text is defined to the last letter, and takes orders by line:
 *
 * <pre>
 * round     one round; its text, each line after "| ", then "end"
 * load N    N threads run rounds until stop; each must say what the first round said
 * rounds N  waits until the load has run N more rounds, then "passed"
 * stop      ends the load, then "stopped ROUNDS DIFFERENT"
 * counts    what the program counted itself, "count NUMBER NAME" each, then "end"
 * </pre>
 */
public final class RealProgram {
    /** One program; used by one thread at a time. */
    interface Work {
        String round() throws Exception;
    }

    /** What the programs count of their own calls, by method; loads are over when it is read. */
    static final Map<String, AtomicLong> COUNTS = new TreeMap<>();

    private static volatile boolean stopping;
    private static final AtomicLong ROUNDS = new AtomicLong();
    private static final AtomicLong DIFFERENT = new AtomicLong();
    private static final List<Thread> LOAD = new ArrayList<>();

    private RealProgram() {
    }

    static AtomicLong counter(String name) {
        synchronized (COUNTS) {
            AtomicLong counter = COUNTS.get(name);
            if (counter == null) {
                counter = new AtomicLong();
                COUNTS.put(name, counter);
            }
            return counter;
        }
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        Class<? extends Work> type = Class.forName(args[0]).asSubclass(Work.class);
        Work work = type.getDeclaredConstructor().newInstance();
        String first = work.round();
        say(out, "ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            obey(line.split(" "), work, first, out);
        }
        System.exit(0); // programs may leave threads behind
    }

    private static void obey(String[] words, Work work, String first, PrintStream out) throws Exception {
        switch (words[0]) {
            case "round":
                for (String text : work.round().split("\n")) {
                    out.println("| " + text);
                }
                say(out, "end");
                break;
            case "load":
                load(work.getClass(), first, Integer.parseInt(words[1]), out);
                say(out, "loading");
                break;
            case "rounds":
                long goal = ROUNDS.get() + Integer.parseInt(words[1]);
                synchronized (ROUNDS) {
                    while (ROUNDS.get() < goal) {
                        ROUNDS.wait();
                    }
                }
                say(out, "passed");
                break;
            case "stop":
                stopping = true;
                for (Thread thread : LOAD) {
                    thread.join();
                }
                LOAD.clear();
                stopping = false;
                say(out, "stopped " + ROUNDS.getAndSet(0) + " " + DIFFERENT.getAndSet(0));
                break;
            case "counts":
                COUNTS.forEach((name, count) -> out.println("count " + count + " " + name));
                say(out, "end");
                break;
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static void load(Class<? extends Work> type, String first, int threads, PrintStream out) throws Exception {
        for (int i = 0; i < threads; i++) {
            Work work = type.getDeclaredConstructor().newInstance();
            Thread thread = new Thread(() -> {
                while (!stopping) {
                    String text;
                    try {
                        text = work.round();
                    } catch (Throwable e) {
                        e.printStackTrace();
                        text = "failed: " + e;
                    }
                    synchronized (ROUNDS) {
                        ROUNDS.incrementAndGet();
                        ROUNDS.notifyAll();
                    }
                    if (!text.equals(first) && DIFFERENT.getAndIncrement() == 0) {
                        tellDifference(out, first.split("\n"), text.split("\n"));
                    }
                }
            }, "load-" + i);
            LOAD.add(thread);
            thread.start();
        }
    }

    private static void tellDifference(PrintStream out, String[] want, String[] got) {
        int i = 0;
        while (i < want.length && i < got.length && want[i].equals(got[i])) {
            i++;
        }
        say(out, "different line " + i + ": got " + (i < got.length ? got[i] : "nothing")
                + ", want " + (i < want.length ? want[i] : "nothing"));
    }

    private static void say(PrintStream out, String line) {
        out.println(line);
        out.flush();
    }
}
