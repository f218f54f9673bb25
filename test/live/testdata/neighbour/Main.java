package neighbour;

import harness.Tally;
import harness.Workload;
import java.io.PrintStream;

/** A class that another agent changes too: what it says shows whose changes are in effect. */
public final class Main implements Workload {
    static final int COUNTED = Tally.exact(Spoken.class, "counted", 10, 0);

    @Override
    public long round() {
        long sum = 0;
        for (int i = 0; i < 10; i++) {
            sum += Spoken.counted(i);
        }
        return sum;
    }

    @Override
    public boolean command(String[] words, PrintStream out) {
        if (!words[0].equals("say")) {
            return false;
        }
        out.println("said " + Spoken.word() + " " + Spoken.number());
        return true;
    }
}
