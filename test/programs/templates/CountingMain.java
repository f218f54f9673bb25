package fixture;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import sonde.rt.Probe;

/** Runs another class's main, then prints the counters of the templates as the last line of standard output. */
public final class CountingMain {
    private CountingMain() {
    }

    public static void main(String[] args) throws Exception {
        try {
            run(Class.forName(args[0]));
        } catch (InvocationTargetException ended) {
            // How the program ends is the business of another run.
        }
        System.out.printf("%ncounters %d %d %d %d %d%n", Probe.entered(), Probe.exited(),
                RichRuntime.entered(), RichRuntime.left(), RichRuntime.inconsistent());
    }

    private static void run(Class<?> program) throws Exception {
        for (Method method : program.getDeclaredMethods()) {
            if (!method.getName().equals("main")) {
                continue;
            }
            method.setAccessible(true);
            if (method.getParameterCount() == 1) {
                method.invoke(null, (Object) new String[0]);
                return;
            }
            var constructor = program.getDeclaredConstructor();
            constructor.setAccessible(true);
            method.invoke(constructor.newInstance());
        }
    }
}
