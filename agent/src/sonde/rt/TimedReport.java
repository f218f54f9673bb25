package sonde.rt;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.Charset;
import java.util.Arrays;
import java.util.Comparator;

/** Prints the sums of all threads when the JVM ends, as a table sorted by total time. */
final class TimedReport implements Runnable, Comparator<TimedCell> {
    private static final String[] HEADINGS = {"calls", "total ms", "mean ns", "method"};

    /** Where to write; null means the standard error stream. */
    private final String file;

    /** How many methods to print. */
    private final int top;

    private TimedReport(String file, int top) {
        this.file = file;
        this.top = top;
    }

    /** Registers the report for the end of the JVM. Never throws: a missing report must not make a program fail. */
    static void atExit() {
        try {
            int top = Integer.getInteger("sonde.timed.top", Integer.MAX_VALUE).intValue();
            TimedReport report = new TimedReport(System.getProperty("sonde.timed.out"), top);
            Runtime.getRuntime().addShutdownHook(new Thread(report, "sonde timed report"));
        } catch (IllegalStateException shuttingDown) {
            // The first woven method ran inside another shutdown hook: it is too late for a report.
            return;
        } catch (RuntimeException refused) {
            // A security policy forbids hooks, or the thread group takes no more threads.
            System.err.println(new StringBuilder("sonde: the report of timed methods cannot be written: ").append(refused));
        }
    }

    @Override
    public void run() {
        TimedCell[] cells = TimedThreads.total().cells();
        Arrays.sort(cells, this);
        byte[] text = format(cells).getBytes(Charset.forName("UTF-8"));
        if (file == null || !writeTo(file, text)) {
            System.err.write(text, 0, text.length);
            System.err.flush();
        }
    }

    /** Longest total time first, then by calls, then by name, so that the order is defined. */
    @Override
    public int compare(TimedCell a, TimedCell b) {
        if (a.nanos != b.nanos) {
            return a.nanos > b.nanos ? -1 : 1;
        }
        if (a.calls != b.calls) {
            return a.calls > b.calls ? -1 : 1;
        }
        return a.name.compareTo(b.name);
    }

    private String format(TimedCell[] cells) {
        int shown = Math.max(0, Math.min(top, cells.length));
        String[][] rows = new String[shown + 1][];
        rows[0] = HEADINGS;
        for (int i = 0; i < shown; i++) {
            rows[i + 1] = row(cells[i]);
        }
        int[] widths = new int[HEADINGS.length - 1];
        for (int i = 0; i < rows.length; i++) {
            for (int column = 0; column < widths.length; column++) {
                widths[column] = Math.max(widths[column], rows[i][column].length());
            }
        }
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < rows.length; i++) {
            for (int column = 0; column < widths.length; column++) {
                pad(text, widths[column] - rows[i][column].length());
                text.append(rows[i][column]).append("  ");
            }
            text.append(rows[i][widths.length]).append('\n');
        }
        if (shown < cells.length) {
            text.append(cells.length - shown).append(" more methods not shown (sonde.timed.top)\n");
        }
        return text.toString();
    }

    private static String[] row(TimedCell cell) {
        long mean = cell.calls == 0 ? 0 : cell.nanos / cell.calls;
        return new String[] {Long.toString(cell.calls), milliseconds(cell.nanos), Long.toString(mean), cell.name};
    }

    /** Milliseconds with three decimals, always with a point, whatever the locale. */
    private static String milliseconds(long nanos) {
        long micros = nanos / 1000;
        String decimals = Long.toString(1000 + micros % 1000);
        return new StringBuilder().append(micros / 1000).append('.').append(decimals, 1, 4).toString();
    }

    private static void pad(StringBuilder text, int count) {
        for (int i = 0; i < count; i++) {
            text.append(' ');
        }
    }

    private static boolean writeTo(String file, byte[] text) {
        try {
            OutputStream out = new FileOutputStream(file);
            try {
                out.write(text);
            } finally {
                out.close();
            }
            return true;
        } catch (IOException e) {
            System.err.println(new StringBuilder("sonde: cannot write sonde.timed.out: ").append(e.getMessage()));
            return false;
        }
    }
}
