import com.sun.tools.attach.VirtualMachine;
import java.util.ArrayList;
import java.util.List;
import org.graalvm.visualvm.lib.jfluid.ProfilerClient;
import org.graalvm.visualvm.lib.jfluid.ProfilerEngineSettings;
import org.graalvm.visualvm.lib.jfluid.TargetAppRunner;
import org.graalvm.visualvm.lib.jfluid.client.ClientUtils.SourceCodeSelection;
import org.graalvm.visualvm.lib.jfluid.filters.InstrumentationFilter;
import org.graalvm.visualvm.lib.jfluid.filters.JavaTypeFilter;
import org.graalvm.visualvm.lib.jfluid.global.CommonConstants;
import org.graalvm.visualvm.lib.jfluid.global.Platform;
import org.graalvm.visualvm.lib.jfluid.results.ProfilingResultsDispatcher;
import org.graalvm.visualvm.lib.jfluid.results.cpu.CPUCallGraphBuilder;
import org.graalvm.visualvm.lib.jfluid.results.cpu.CPUResultsSnapshot;
import org.graalvm.visualvm.lib.jfluid.results.cpu.FlatProfileContainer;
import org.graalvm.visualvm.lib.jfluid.wireprotocol.InternalStatsResponse;

/**
 * VisualVM's engine without its windows.
 *
 * <pre>
 * calibrate LIB PORT              measures what the engine's hooks cost on this JDK, for later runs
 * profile LIB PORT PID SCHEME WEAVING INTO ROOT...
 * </pre>
 *
 * LIB is the folder of the engine's libraries, SCHEME is lazy, eager, total or sampled. Once no more hooks go
 * in, for which it waits WEAVING milliseconds at most, it says "# measuring" and goes on until its input ends.
 * INTO are the classes that get hooks (as VisualVM's filter has them, "-" for all), ROOT is CLASS METHOD
 * DESCRIPTOR in three words. It prints "# EVENT NANOS" as things happen, then "class.method DESCRIPTOR CALLS
 * SELF TOTAL" with tabs for each method, times in nanoseconds, and "! MESSAGE" if it fails.
 */
public final class Drive {
    private static final int RETRIES = 50; // of 200 ms: a busy target is slow to hand over its results
    private static final long QUIET = 2_000_000_000L; // no new hooks for so long: it is woven

    private static volatile String doing = "begin";

    private final ProfilerEngineSettings settings = new ProfilerEngineSettings();
    private final Handler handler = new Handler();
    private final TargetAppRunner runner;
    private final String libraries;

    private Drive(String libraries, int port) throws Exception {
        this.libraries = libraries;
        settings.initialize(libraries);
        settings.setTargetJDKVersionString(Platform.getJDKVersionString());
        settings.setTargetJVMExeFile(System.getProperty("java.home") + "/bin/java");
        settings.setSystemArchitecture(Platform.getSystemArchitecture());
        settings.setSeparateConsole(false);
        settings.setPortNo(port);
        runner = new TargetAppRunner(settings, handler, new Handler.NoPoints());
    }

    public static void main(String[] args) {
        int status = 1;
        try {
            Drive drive = new Drive(args[1], Integer.parseInt(args[2]));
            if (args[0].equals("calibrate")) {
                drive.calibrate();
            } else {
                drive.profile(args);
            }
            status = 0;
        } catch (Exception e) {
            String message = (e.getMessage() == null ? e.toString() : e.getMessage()).replace('\n', ' ');
            System.out.println("! " + message + " (in \"" + doing + "\")");
            e.printStackTrace();
        }
        System.out.flush();
        System.exit(status); // the engine leaves threads behind
    }

    static void note(String name) {
        System.out.println("# " + name + " " + System.nanoTime());
    }

    /** Notes that a part of the job begins. */
    private static void event(String name) {
        doing = name;
        note(name);
    }

    private void must(boolean good, String what) {
        if (!good) {
            String why = handler.complaint();
            throw new IllegalStateException(why.isEmpty() ? what + " failed" : why);
        }
    }

    private void calibrate() {
        must(runner.calibrateInstrumentationCode(), "calibration");
        double[] call = runner.getProfilingSessionStatus().methodEntryExitCallTime;
        long[] counts = runner.getProfilingSessionStatus().timerCountsInSecond;
        System.out.println("# call " + Math.round(call[0] * 1e9 / counts[0]));
    }

    private void profile(String[] args) throws Exception {
        VirtualMachine target = VirtualMachine.attach(args[3]);
        settings(args[4], args[6]);
        ProfilerClient client = runner.getProfilerClient();
        CPUCallGraphBuilder builder = new CPUCallGraphBuilder();
        ProfilingResultsDispatcher.getDefault().addListener(builder);
        builder.startup(client);
        must(runner.readSavedCalibrationData(), "reading the calibration");
        event("attach");
        target.loadAgent(libraries + "/jfluid-server-15.jar", String.valueOf(settings.getPortNo()));
        target.detach();
        must(runner.initiateSession(2, false), "connecting");
        must(runner.attachToTargetVM(), "attaching");
        try {
            event("instrument");
            client.initiateRecursiveCPUProfInstrumentation(roots(args));
            weave(client, Long.parseLong(args[5]) * 1_000_000);
            event("measuring");
            while (System.in.read() >= 0) {
                continue; // only the end of the input means something
            }
            event("fetch");
            print(fetch(client));
        } finally {
            event("remove");
            runner.prepareDetachFromTargetJVM();
            client.removeAllInstrumentation(false);
            runner.detachFromTargetJVM();
            event("detached");
        }
    }

    private void settings(String scheme, String into) {
        boolean sampled = scheme.equals("sampled");
        settings.setCPUProfilingType(sampled ? CommonConstants.CPU_INSTR_SAMPLED : CommonConstants.CPU_INSTR_FULL);
        settings.setInstrScheme(scheme.equals("eager") ? CommonConstants.INSTRSCHEME_EAGER
                : scheme.equals("total") ? CommonConstants.INSTRSCHEME_TOTAL : CommonConstants.INSTRSCHEME_LAZY);
        settings.setAbsoluteTimerOn(true);
        settings.setThreadCPUTimerOn(false);
        settings.setExcludeWaitTime(false);
        settings.setInstrumentEmptyMethods(true);
        settings.setInstrumentGetterSetterMethods(true);
        settings.setInstrumentMethodInvoke(false);
        settings.setInstrumentSpawnedThreads(false);
        if (!into.equals("-")) {
            settings.setInstrumentationFilter(new InstrumentationFilter(new JavaTypeFilter(into, JavaTypeFilter.TYPE_INCLUSIVE)));
        }
    }

    /** Waits until the root was called and the number of hooks has not grown for a while since. */
    private void weave(ProfilerClient client, long longest) throws InterruptedException {
        long began = System.nanoTime();
        long grew = began;
        int hooks = 0;
        for (long now = began; now - began < longest; now = System.nanoTime()) {
            int found = client.getStatus().getNInstrMethods();
            if (found != hooks || !handler.entered()) {
                hooks = found;
                grew = now;
            }
            if (now - grew > QUIET) {
                note("woven");
                return;
            }
            Thread.sleep(50);
        }
    }

    private static SourceCodeSelection[] roots(String[] args) {
        List<SourceCodeSelection> roots = new ArrayList<>();
        for (int i = 7; i + 3 <= args.length; i += 3) {
            roots.add(new SourceCodeSelection(args[i], args[i + 1], args[i + 2]));
        }
        return roots.toArray(new SourceCodeSelection[0]);
    }

    private FlatProfileContainer fetch(ProfilerClient client) throws Exception {
        must(client.forceObtainedResultsDump(false, RETRIES), "fetching the results");
        InternalStatsResponse stats = client.getInternalStats();
        System.out.println("# hooks " + client.getStatus().getNInstrMethods());
        System.out.println("# rounds " + stats.nNonEmptyInstrMethodGroupResponses);
        System.out.println("# hotswap " + Math.round(stats.totalHotswappingTime * 1e6));
        must(handler.entered(), "waiting for a call of the root");
        CPUResultsSnapshot snapshot = client.getCPUProfilingResultsSnapshot(false);
        return snapshot.getFlatProfile(-1, CPUResultsSnapshot.METHOD_LEVEL_VIEW);
    }

    private static void print(FlatProfileContainer flat) {
        StringBuilder all = new StringBuilder();
        for (int row = 0; row < flat.getNRows(); row++) {
            SourceCodeSelection method = flat.getSourceCodeSelectionAtRow(row);
            all.append(method.getClassName().replace('/', '.')).append('.').append(method.getMethodName())
                    .append('\t').append(method.getMethodSignature())
                    .append('\t').append(flat.getNInvocationsAtRow(row))
                    .append('\t').append(flat.getTimeInMcs0AtRow(row) * 1000)
                    .append('\t').append(flat.getTotalTimeInMcs0AtRow(row) * 1000).append('\n');
        }
        System.out.print(all);
    }
}
