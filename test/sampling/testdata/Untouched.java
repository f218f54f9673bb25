import java.lang.management.ClassLoadingMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;
import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.VMOption;

/**
 * A program that does the same all the time, and allocates nothing while it does. For each line that it reads it
 * reports its threads, classes and flags.
 */
public class Untouched {
    static volatile long sink;

    public static void main(String[] args) throws Exception {
        Thread busy = new Thread(Untouched::work, "busy");
        busy.setDaemon(true);
        busy.start();
        for (int i = 0; i < 3; i++) {
            report(); // a report needs classes, too
        }
        System.out.println("ready");
        for (int c = System.in.read(); c >= 0; c = System.in.read()) {
            if (c == '\n') {
                System.out.println("report " + report());
            }
        }
    }

    static void work() {
        while (true) {
            sink = step(sink);
        }
    }

    static long step(long n) {
        for (int i = 0; i < 1000; i++) {
            n = n * 31 + i;
        }
        return n;
    }

    static String report() {
        ClassLoadingMXBean classes = ManagementFactory.getClassLoadingMXBean();
        List<VMOption> flags = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).getDiagnosticOptions();
        Thread[] threads = new Thread[100];
        int n = Thread.enumerate(threads);
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < n; i++) {
            text.append(threads[i].getName()).append(' ');
        }
        for (VMOption flag : flags) {
            text.append(flag.getName()).append('=').append(flag.getValue()).append(' ');
        }
        return text + "classes " + classes.getTotalLoadedClassCount() + " " + classes.getUnloadedClassCount();
    }
}
