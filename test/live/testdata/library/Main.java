package library;

import harness.Tally;
import harness.Workload;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Calls methods of the JDK so and so often, from methods of its own: those of the JDK run for others
 * too, the harness and the JVM among them, so who calls is what tells these calls from theirs.
 */
public final class Main implements Workload {
    static final int TIMES = 1000;
    static final int PUTS = Tally.exact(Main.class, "putsIntoMap", 1, 0);
    static final int ADDS = Tally.exact(Main.class, "addsToList", 1, 0);
    static final int HASHES = Tally.exact(Main.class, "hashesStrings", 1, 0);
    static final int PARSES = Tally.exact(Main.class, "parsesNoNumbers", 1, 0);
    static final int BUILDS = Tally.exact(Main.class, "makesLists", 1, 0);

    static long putsIntoMap() {
        Map<Integer, Integer> map = new HashMap<>();
        for (int i = 0; i < TIMES; i++) {
            map.put(i % 100, i);
        }
        return map.size();
    }

    static long addsToList() {
        List<Integer> list = new ArrayList<>();
        for (int i = 0; i < TIMES; i++) {
            list.add(i);
        }
        return list.size();
    }

    static long hashesStrings(String text) {
        long sum = 0;
        for (int i = 0; i < TIMES; i++) {
            sum += text.hashCode();
        }
        return sum;
    }

    static long parsesNoNumbers() {
        long sum = 0;
        for (int i = 0; i < TIMES; i++) {
            try {
                sum += Integer.parseInt(i % 4 == 0 ? "" : "17");
            } catch (NumberFormatException e) {
                sum++;
            }
        }
        return sum;
    }

    static long makesLists() {
        long sum = 0;
        for (int i = 0; i < TIMES; i++) {
            sum += new ArrayList<Integer>(i % 8).size();
        }
        return sum;
    }

    @Override
    public long round() {
        // Counted here, since counting may call what is counted.
        Tally.in(PUTS);
        Tally.in(ADDS);
        Tally.in(HASHES);
        Tally.in(PARSES);
        Tally.in(BUILDS);
        return putsIntoMap() + addsToList() * 3 + hashesStrings("text") * 5 + parsesNoNumbers() * 7 + makesLists();
    }
}
