import java.io.BufferedReader;
import java.io.FileReader;
import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import startup.AsmHooks;

/**
 * Weaves classes by ASM as they load. Its argument is a file with a line for each class that is to be woven: the
 * internal name and how many methods it has that can be. Classes not named there cost it a lookup.
 */
public final class AsmAgent implements ClassFileTransformer {
    private final Map<String, Integer> firstIds;
    private final AtomicInteger classes = new AtomicInteger();
    private final AtomicInteger methods = new AtomicInteger();

    private AsmAgent(Map<String, Integer> firstIds) {
        this.firstIds = firstIds;
    }

    public static void premain(String argument, Instrumentation instrumentation) throws IOException {
        Map<String, Integer> firstIds = new HashMap<>();
        int next = 0;
        try (BufferedReader lines = new BufferedReader(new FileReader(argument))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                int blank = line.indexOf(' ');
                firstIds.put(line.substring(0, blank), next);
                next += Integer.parseInt(line.substring(blank + 1));
            }
        }
        AsmHooks.prepare(next);
        AsmAgent agent = new AsmAgent(firstIds);
        instrumentation.addTransformer(agent);
        Runtime.getRuntime().addShutdownHook(new Thread() {
            @Override
            public void run() {
                System.err.println("asm-agent " + agent.classes + " " + agent.methods + " " + AsmHooks.total());
            }
        });
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] file) {
        Integer firstId = name == null ? null : firstIds.get(name);
        if (firstId == null) {
            return null;
        }
        try {
            Weave weave = new Weave(firstId);
            byte[] woven = weave.apply(file);
            classes.incrementAndGet();
            methods.addAndGet(weave.methods());
            return woven;
        } catch (Throwable t) { // the JVM would keep silent about it
            System.err.println("asm-agent failed: " + name + ": " + t);
            return null;
        }
    }
}
