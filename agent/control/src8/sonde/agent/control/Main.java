package sonde.agent.control;

import java.lang.instrument.Instrumentation;
import java.util.Properties;
import java.util.function.Consumer;

/** The entry point for sessions, called by the stub, which documents its contract. */
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
            // Without a connection, nothing can be reported: Sonde reports the missing connection.
        }
    }
}
