package harness;

import java.io.PrintStream;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.LongAdder;

/**
 * The program's own truth: how often each of its methods was entered, and how often it ended by an
 * exception. Sums are exact as soon as the threads that count have come to rest.
 */
public final class Tally {
    /** How far the program can tell by itself. */
    public enum Trust {
        /** Both numbers are exact. */
        EXACT,
        /**
         * A constructor: entries are exact; only those exceptions are counted that leave behind its
         * call of super or this, since no handler may stand around that.
         */
        ENTRIES,
        /** The stack may end before or after the method counts itself. */
        ABOUT,
        /** Exact, in a hidden class, which the JVM lets nobody change. */
        HIDDEN
    }

    private record Entry(String method, Trust trust, long entries, long exceptions) {
    }

    private static final int MOST = 2048;
    private static final LongAdder[] ENTERED = new LongAdder[MOST];
    private static final LongAdder[] THREW = new LongAdder[MOST];
    private static final List<Entry> ENTRIES = new ArrayList<>();
    private static final Map<String, Integer> IDS = new TreeMap<>();

    static {
        // When threads first contend for an adder, that may be at the end of a stack: what it then needs could not be
        // initialised, and never again.
        ThreadLocalRandom.current();
        try {
            Class.forName("java.util.concurrent.atomic.Striped64$Cell");
        } catch (ClassNotFoundException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private Tally() {
    }

    /**
     * Registers a method by its name, with its descriptor where the name is not enough; entries and
     * exceptions are what one round of its workload amounts to.
     */
    public static int exact(Class<?> owner, String method, long entries, long exceptions) {
        return register(name(owner, method), Trust.EXACT, entries, exceptions);
    }

    /** Like exact, for a constructor whose call of super or this may throw. */
    public static int entries(Class<?> owner, String method, long entries, long exceptionsBehindSuper) {
        return register(name(owner, method), Trust.ENTRIES, entries, exceptionsBehindSuper);
    }

    /** Like exact, for a method at which the stack overflows. */
    public static int about(Class<?> owner, String method) {
        return register(name(owner, method), Trust.ABOUT, 0, 0);
    }

    /** Registers a method by its full name; a second time gives the same number. */
    public static synchronized int register(String method, Trust trust, long entries, long exceptions) {
        Integer known = IDS.get(method);
        if (known != null) {
            return known;
        }
        int id = ENTRIES.size();
        ENTERED[id] = new LongAdder();
        THREW[id] = new LongAdder();
        ENTRIES.add(new Entry(method, trust, entries, exceptions));
        IDS.put(method, id);
        return id;
    }

    /** Counts an entry. */
    public static void in(int id) {
        ENTERED[id].increment();
    }

    /** Counts an entry and hands its argument on: for what is written before a call of super. */
    public static <T> T in(int id, T argument) {
        in(id);
        return argument;
    }

    /** Counts an end by exception and hands the exception on, to be thrown. */
    public static <T extends Throwable> T out(int id, T thrown) {
        THREW[id].increment();
        return thrown;
    }

    /** Counts many at once. */
    public static void add(int id, long entries, long exceptions) {
        ENTERED[id].add(entries);
        THREW[id].add(exceptions);
    }

    /** The counter of entries, for classes that cannot see this one. */
    static LongAdder entered(int id) {
        return ENTERED[id];
    }

    /** The counter of exceptions, for classes that cannot see this one. */
    static LongAdder threw(int id) {
        return THREW[id];
    }

    static synchronized void print(PrintStream out) {
        IDS.forEach((method, id) -> line(out, id, ENTERED[id].sum(), THREW[id].sum()));
        out.println("end");
    }

    /** Prints what the rounds that were run, by workload, should have amounted to. */
    static synchronized void printExpected(PrintStream out, Map<String, Long> rounds) {
        IDS.forEach((method, id) -> {
            Entry entry = ENTRIES.get(id);
            long n = rounds.getOrDefault(method.substring(0, method.indexOf('/')), 0L);
            line(out, id, n * entry.entries, n * entry.exceptions);
        });
        out.println("end");
    }

    private static void line(PrintStream out, int id, long entered, long threw) {
        Entry entry = ENTRIES.get(id);
        out.println("count " + entry.method + " " + entered + " " + threw + " " + entry.trust.name().toLowerCase());
    }

    /** Completes a method's name, and makes sure that the class has such a method. */
    private static String name(Class<?> owner, String method) {
        String prefix = owner.getName().replace('.', '/') + ".";
        if (method.equals("<clinit>")) {
            return prefix + "<clinit>()V";
        }
        List<String> found = new ArrayList<>();
        List<Executable> members = new ArrayList<>(List.of(owner.getDeclaredMethods()));
        members.addAll(List.of(owner.getDeclaredConstructors()));
        for (Executable member : members) {
            String name = member instanceof Constructor ? "<init>" : member.getName();
            Class<?> result = member instanceof Method m ? m.getReturnType() : void.class;
            String full = name + MethodType.methodType(result, member.getParameterTypes()).toMethodDescriptorString();
            if (method.equals(name) || method.equals(full)) {
                found.add(full);
            }
        }
        if (found.size() != 1) {
            throw new IllegalArgumentException(owner.getName() + " has not one method " + method + " but " + found);
        }
        return prefix + found.get(0);
    }
}
