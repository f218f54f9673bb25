package sonde.agent.control;

import java.lang.instrument.Instrumentation;
import java.util.Properties;
import java.util.function.Consumer;

/** Where the stub hands over. What it promises is told there. */
public final class Main implements Consumer<Object[]> {
    /** Called by name. */
    public Main() {
    }

    @Override
    public void accept(Object[] given) {
        try {
            Instrumentation instrumentation = (Instrumentation) given[0];
            Properties properties = (Properties) given[1];
            Object[] holder = (Object[]) given[2];
            Build build = new Build(Main.class.getClassLoader());
            new Session(instrumentation, properties, new Tenure(holder, properties), build).start();
        } catch (Throwable contained) {
            // Without a line there is no one to tell: Sonde says that none came.
        }
    }
}
