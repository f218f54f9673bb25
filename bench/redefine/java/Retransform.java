import java.lang.instrument.Instrumentation;

/** An agent that retransforms a class, named by its options, to what it is already. */
public final class Retransform {
    public static void agentmain(String name, Instrumentation instrumentation) throws Exception {
        for (Class<?> type : instrumentation.getAllLoadedClasses()) {
            if (type.getName().equals(name)) {
                long began = System.nanoTime();
                instrumentation.retransformClasses(type);
                System.out.println("retransformed " + name + " " + began + " " + System.nanoTime());
                return;
            }
        }
        throw new ClassNotFoundException(name);
    }

    private Retransform() {
    }
}
