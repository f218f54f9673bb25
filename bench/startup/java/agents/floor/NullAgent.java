import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;

/** An agent that is shown every class that loads and leaves it as it is: what every agent costs that could weave. */
public final class NullAgent implements ClassFileTransformer {
    private NullAgent() {
    }

    public static void premain(String argument, Instrumentation instrumentation) {
        // Sonde's is one that could take out again what it put in.
        instrumentation.addTransformer(new NullAgent(), "able".equals(argument));
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] file) {
        return null;
    }
}
