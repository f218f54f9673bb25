package sonde.agent;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.Instrumentation;
import java.util.Properties;
import java.util.function.Consumer;

/**
 * Where a JVM enters Sonde's agent.
 *
 * <p>The first Stub a JVM loads answers for ever, also to a newer or an older Sonde. So all it knows is how to
 * start the control classes of the jar that a session names. What it promises them, and can never change:
 *
 * <ul>
 *   <li>they lie in that jar below {@link StubLoader#PREFIX}, and a loader of their own, without a parent,
 *       gives them as classes and as resources;
 *   <li>{@link #MAIN} is a {@code Consumer<Object[]>} with a public constructor, and gets the
 *       {@link Instrumentation}, the session's {@link Properties} and {@link #HOLDER};
 *   <li>the holder's one element is null, or a String that says who holds this JVM. It is read and changed by
 *       whoever has its monitor.
 * </ul>
 */
public final class Stub implements Runnable {
    private static final String MAIN = "sonde.agent.control.Main";
    private static final Object[] HOLDER = new Object[1];

    private final Properties session;
    private final Instrumentation instrumentation;

    private Stub(Properties session, Instrumentation instrumentation) {
        this.session = session;
        this.instrumentation = instrumentation;
    }

    /** Begins the session described by the file {@code path}; what fails here shows only by its absence. */
    public static void agentmain(String path, Instrumentation instrumentation) {
        try {
            begin(path, instrumentation);
        } catch (Throwable contained) {
            // Thrown on, it would be printed on the program's own stream.
        }
    }

    /** Stands by for an invitation, and holds the program back where the argument says so. */
    public static void premain(String argument, Instrumentation instrumentation) {
        try {
            Hold hold = Hold.begin(argument); // before anyone is invited who would end it
            start(new Standby(instrumentation, hold), "sonde-standby");
            if (hold != null) {
                hold.await();
            }
        } catch (Throwable contained) {
            // Thrown on, it would end the program before it began.
        }
    }

    static void begin(String path, Instrumentation instrumentation) throws IOException {
        File file = new File(path);
        Properties session = new Properties();
        InputStream in = new FileInputStream(file);
        try {
            session.load(in);
        } finally {
            in.close();
            file.delete();
        }
        start(new Stub(session, instrumentation), "sonde-start");
    }

    /** Reads the control classes and hands over; the thread ends when they have threads of their own. */
    @Override
    public void run() {
        try {
            StubLoader loader = new StubLoader(session.getProperty("jar"));
            @SuppressWarnings("unchecked")
            Consumer<Object[]> main = (Consumer<Object[]>) loader.loadClass(MAIN).newInstance();
            main.accept(new Object[] {instrumentation, session, HOLDER});
        } catch (Throwable contained) {
            // There is no line to tell it over: Sonde waits for one and says that none came.
        }
    }

    private static void start(Runnable body, String name) {
        ThreadGroup group = Thread.currentThread().getThreadGroup();
        while (group.getParent() != null) {
            group = group.getParent();
        }
        Thread thread = new Thread(group, body, name);
        thread.setDaemon(true);
        thread.setContextClassLoader(null);
        thread.start();
    }
}
