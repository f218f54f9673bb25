import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * ASM's half of the side-by-side benchmark. It reads all classes of java.base into memory and then
 * serves requests, one line each, so that the driver can alternate rounds of both sides:
 *
 * <pre>
 *   round visit|plain|advice   →  classes=6445 ns=... cpu=... result=...
 *   prove plain|advice         →  loaded=... entered=... left=...
 * </pre>
 *
 * It ends with its input. The measured loop does no I/O.
 */
public final class AsmRounds {
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final byte[][] classes;
    private final Map<String, byte[]> byName;

    private AsmRounds(Map<String, byte[]> byName) {
        this.byName = byName;
        this.classes = byName.values().toArray(new byte[0][]);
    }

    public static void main(String[] args) throws IOException, ReflectiveOperationException {
        AsmRounds rounds = new AsmRounds(Classes.ofModule("java.base"));
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(line.split(" ")[0] + " " + rounds.answer(line));
        }
    }

    private String answer(String line) throws ReflectiveOperationException {
        switch (line) {
            case "classes":
                return Integer.toString(classes.length);
            case "round visit":
                return visit();
            case "round plain":
                return plain();
            case "round advice":
                return advice();
            case "prove plain":
                return Proof.of(byName, PlainWeave::weave);
            case "prove advice":
                return Proof.of(byName, AdviceWeave::weave);
            default:
                return "unknown request: " + line;
        }
    }

    // One loop for each, so that no call site in them is shared.

    private String visit() {
        long result = 0;
        long cpu = SYSTEM.getProcessCpuTime();
        long start = System.nanoTime();
        for (byte[] data : classes) {
            result += new FullVisit().visit(data);
        }
        return report(start, cpu, result);
    }

    private String plain() {
        long result = 0;
        long cpu = SYSTEM.getProcessCpuTime();
        long start = System.nanoTime();
        for (byte[] data : classes) {
            result += PlainWeave.weave(data).length;
        }
        return report(start, cpu, result);
    }

    private String advice() {
        long result = 0;
        long cpu = SYSTEM.getProcessCpuTime();
        long start = System.nanoTime();
        for (byte[] data : classes) {
            result += AdviceWeave.weave(data).length;
        }
        return report(start, cpu, result);
    }

    private String report(long start, long cpu, long result) {
        long nanos = System.nanoTime() - start;
        cpu = SYSTEM.getProcessCpuTime() - cpu;
        return classes.length + " " + nanos + " " + cpu + " " + result;
    }
}
