package harness;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The main class of every fixture. Its arguments name workloads; it prints "ready" and then answers
 * each line of its input, until that ends:
 *
 * <pre>
 * run N          done, after N rounds of each workload
 * start K HOW    done; K threads run rounds, always or resting
 * stop           done, when those threads have ended
 * counts         lines "count method entered threw trust", then "end"
 * expected       the same lines, told from the rounds that were run instead of counted
 * rounds         rounds and their number, summed over the workloads
 * check          check and a sum over the results of one more round
 * block K        done; K threads per workload are inside counted methods
 * unblock        done
 * reflect PATH   done; the file holds all that reflection tells about the workloads' classes
 * gc             done
 * </pre>
 *
 * and what workloads add. What does not go well is answered by one line that begins with "failed".
 */
public final class Harness {
    private final Map<String, Workload> workloads = new LinkedHashMap<>();
    private final PrintStream out = System.out;
    private Load load;

    private Harness() {
    }

    /** Runs until the input ends. */
    public static void main(String[] args) throws Exception {
        Harness harness = new Harness();
        for (String name : args) {
            Class<?> type = Class.forName(name + ".Main");
            harness.workloads.put(name, (Workload) type.getDeclaredConstructor().newInstance());
        }
        harness.load = new Load(harness.workloads);
        harness.answerAll();
        // Threads of a program that was left blocked must not keep it from ending.
        Runtime.getRuntime().halt(0);
    }

    private void answerAll() throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                answer(line.split(" "));
            } catch (Throwable t) {
                t.printStackTrace();
                out.println("failed " + t.toString().replace('\n', ' '));
            }
            out.flush();
        }
    }

    private void answer(String[] words) throws Exception {
        switch (words[0]) {
            case "run" -> {
                for (int i = Integer.parseInt(words[1]); i > 0; i--) {
                    load.round();
                }
                done();
            }
            case "start" -> {
                load.start(Integer.parseInt(words[1]), words[2].equals("resting"));
                done();
            }
            case "stop" -> {
                load.stop();
                done();
            }
            case "counts" -> Tally.print(out);
            case "expected" -> Tally.printExpected(out, load.rounds());
            case "rounds" -> out.println("rounds " + load.rounds().values().stream().mapToLong(n -> n).sum());
            case "check" -> {
                long sum = load.round();
                out.println(load.wrong() == null ? "check " + Long.toHexString(sum) : "failed " + load.wrong());
            }
            case "block" -> {
                for (Workload workload : workloads.values()) {
                    workload.block(Integer.parseInt(words[1]));
                }
                done();
            }
            case "unblock" -> {
                for (Workload workload : workloads.values()) {
                    workload.unblock();
                }
                done();
            }
            case "reflect" -> {
                Files.writeString(Path.of(words[1]), Mirror.of(workloads.values()));
                done();
            }
            case "gc" -> {
                System.gc();
                done();
            }
            default -> own(words);
        }
    }

    private void own(String[] words) throws Exception {
        for (Workload workload : workloads.values()) {
            if (workload.command(words, out)) {
                return;
            }
        }
        out.println("failed no command " + words[0]);
    }

    private void done() {
        out.println(load.wrong() == null ? "done" : "failed " + load.wrong());
    }
}
