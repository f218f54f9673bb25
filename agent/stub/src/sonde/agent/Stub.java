package sonde.agent;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.Instrumentation;
import java.util.Properties;
import java.util.function.Consumer;

/**
 * The entry point of Sonde's agent.
 *
 * <p>The first Stub that a JVM loads stays, also for a newer or older Sonde. So it only starts the control classes of the
 * jar that a session names. Its contract with them, which can never change:
 *
 * <ul>
 *   <li>they are in that jar below {@link StubLoader#PREFIX}, and a separate loader without a parent provides them
 *       as classes and as resources;
 *   <li>{@link #MAIN} is a {@code Consumer<Object[]>} with a public constructor, and gets the
 *       {@link Instrumentation}, the session's {@link Properties} and {@link #HOLDER};
 *   <li>the holder's one element is null, or a String that says who holds this JVM. It is accessed only with
 *       its monitor held.
 * </ul>
 */
public final class Stub implements Runnable {
    private static final String MAIN = "sonde.agent.control.Main";
    private static final String PACK_MAIN = "sonde.agent.control.PackMain";
    private static final Object[] HOLDER = new Object[1];
    /** The same for the pack that the program was started with. */
    private static final Object[] PACK_HOLDER = new Object[1];

    private final Properties session;
    private final Instrumentation instrumentation;

    private Stub(Properties session, Instrumentation instrumentation) {
        this.session = session;
        this.instrumentation = instrumentation;
    }

    /** Begins the session described by the file {@code path}; failures are not reported. */
    public static void agentmain(String path, Instrumentation instrumentation) {
        try {
            begin(read(new File(path)), instrumentation); // the JVM accepts the path only from this user or root
        } catch (Throwable contained) {
            // An exception would be printed to the program's standard error.
        }
    }

    /**
     * Acts on the argument before the program starts, unless the filters exclude the program: weaves by a pack, waits for an
     * invitation, and holds the program.
     */
    public static void premain(String argument, Instrumentation instrumentation) {
        try {
            Arguments wanted = argument == null ? null : new Arguments(argument);
            if (wanted != null && !wanted.mean(System.getProperty("sun.java.command"))) {
                return;
            }
            if (wanted != null && (wanted.pack != null || wanted.unknown != null)) {
                weave(wanted.pack, wanted.arena, wanted.unknown, instrumentation);
            }
            // Before an invitation can end it.
            Hold hold = wanted == null || wanted.hold == null ? null : Hold.begin(wanted.hold, wanted.by);
            start(new Standby(instrumentation, hold), "sonde-standby");
            if (hold != null) {
                hold.await();
            }
        } catch (Throwable contained) {
            // An exception would end the program before it starts.
        }
    }

    /**
     * Lets the control classes of this jar weave by a pack; they report the result. No parameter has a class that is not
     * needed otherwise: the JVM would load it to find premain.
     */
    private static void weave(String pack, String arena, String unknown, Instrumentation instrumentation) {
        Notice notice = new Notice(pack == null ? "" : new File(pack).getAbsolutePath());
        try {
            if (unknown != null) {
                throw new IllegalArgumentException("unknown argument " + unknown
                        + "; known are pack=FILE and, with it, arena=FILE, only=GLOB, not=GLOB, hold and by=PID");
            }
            String machine = System.getProperty("java.vm.name", "");
            if (!machine.startsWith("OpenJDK ") && !machine.contains("HotSpot")
                    || !"64".equals(System.getProperty("sun.arch.data.model"))) {
                // The offset of arrays and the proof that no thread is in a hook rely on HotSpot.
                throw new UnsupportedOperationException("packs need a HotSpot JVM of 64 bits; use not=GLOB to exclude this program");
            }
            String checked = Trust.checkPack(new File(pack), OwnLoader.file()).getPath();
            @SuppressWarnings("unchecked")
            Consumer<Object[]> main = (Consumer<Object[]>) new OwnLoader().loadClass(PACK_MAIN).newInstance();
            main.accept(new Object[] {instrumentation, checked, arena, PACK_HOLDER, notice});
        } catch (Throwable failed) {
            String reason = failed.getMessage();
            notice.accept("\n" + (reason == null ? failed.getClass().getName() : reason.replace('\n', ' ')));
        }
    }

    /** Reads a session, and removes the file. */
    static Properties read(File file) throws IOException {
        Properties session = new Properties();
        InputStream in = new FileInputStream(file);
        try {
            session.load(in);
        } finally {
            in.close();
            file.delete();
        }
        return session;
    }

    static void begin(Properties session, Instrumentation instrumentation) {
        start(new Stub(session, instrumentation), "sonde-start");
    }

    /** Reads and starts the control classes; the thread ends when they have their own threads. */
    @Override
    public void run() {
        try {
            StubLoader loader = new StubLoader(session.getProperty("jar"));
            @SuppressWarnings("unchecked")
            Consumer<Object[]> main = (Consumer<Object[]>) loader.loadClass(MAIN).newInstance();
            // A session whose hook classes are those of the pack is refused.
            boolean isBeside = PACK_HOLDER[0] == null || session.getProperty("beside") != null;
            main.accept(new Object[] {instrumentation, session, isBeside ? HOLDER : PACK_HOLDER});
        } catch (Throwable contained) {
            // There is no connection for a report: Sonde waits for one and reports that none came.
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
