import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.graalvm.visualvm.lib.jfluid.client.AppStatusHandler;
import org.graalvm.visualvm.lib.jfluid.client.ProfilingPointsProcessor;
import org.graalvm.visualvm.lib.jfluid.client.RuntimeProfilingPoint;

/** Stands where VisualVM's windows do: keeps what the engine complains of, and never asks anybody. */
final class Handler implements AppStatusHandler {
    /** How often the engine may wait another minute for an answer: what slows a target down makes it slow to answer. */
    private static final int MINUTES = 3;

    private final AtomicInteger waited = new AtomicInteger();
    private final List<String> complaints = new ArrayList<>();
    private volatile boolean entered;

    /** What went wrong so far, in one line; empty if nothing did. */
    synchronized String complaint() {
        return String.join("; ", complaints).replaceAll("<[a-z/]+>", " ").replaceAll("\\s+", " ").trim();
    }

    /** Whether a root method has been called since it has its hook. */
    boolean entered() {
        return entered;
    }

    private synchronized void keep(String message) {
        complaints.add(message);
    }

    @Override
    public AsyncDialog getAsyncDialogInstance(String message, boolean showProgress, Runnable cancel) {
        return new AsyncDialog() {
            @Override
            public void display() {
            }

            @Override
            public void close() {
            }
        };
    }

    @Override
    public void displayError(String message) {
        keep(message);
    }

    @Override
    public void displayErrorAndWaitForConfirm(String message) {
        keep(message);
    }

    @Override
    public void displayErrorWithDetailsAndWaitForConfirm(String message, String details) {
        keep(message);
    }

    @Override
    public void displayWarning(String message) {
        System.err.println(message);
    }

    @Override
    public void displayWarningAndWaitForConfirm(String message) {
        System.err.println(message);
    }

    @Override
    public void displayNotification(String message) {
    }

    @Override
    public void displayNotificationAndWaitForConfirm(String message) {
    }

    @Override
    public void displayNotificationWithDetailsAndWaitForConfirm(String message, String details) {
    }

    @Override
    public void resultsAvailable() {
        entered = true;
        Drive.note("results");
    }

    @Override
    public void takeSnapshot() {
    }

    @Override
    public boolean confirmWaitForConnectionReply() {
        Drive.note("unanswered");
        return waited.incrementAndGet() <= MINUTES;
    }

    @Override
    public void handleShutdown() {
    }

    @Override
    public void pauseLiveUpdates() {
    }

    @Override
    public void resumeLiveUpdates() {
    }

    /** There are no profiling points. */
    static final class NoPoints extends ProfilingPointsProcessor {
        @Override
        public void profilingPointHit(RuntimeProfilingPoint.HitEvent event) {
        }

        @Override
        public void timeAdjust(int thread, long difference, long other) {
        }

        @Override
        public void init(Object project) {
        }

        @Override
        public RuntimeProfilingPoint[] getSupportedProfilingPoints() {
            return new RuntimeProfilingPoint[0];
        }
    }
}
