import sonde.template.Template;

/** What is woven around single calls: it checks that each is left as it was entered, and counts. */
public final class SiteHooks {
    private static final int MOST = 4096;

    private static final ThreadLocal<long[]> STACK = new ThreadLocal<long[]>() {
        @Override
        protected long[] initialValue() {
            return new long[MOST];
        }
    };
    private static final java.util.Map<Integer, long[]> COUNTS = new java.util.TreeMap<>();
    private static long wrong;

    private SiteHooks() {
    }

    /** Is of the shape of the template for running JVMs. */
    static void site() {
        long token = SiteHooks.enter(Template.methodId());
        try {
            Template.target();
        } catch (Throwable t) {
            try {
                SiteHooks.fail(token, Template.methodId());
            } catch (StackOverflowError full) {
                // What was thrown goes on.
            }
            throw t;
        }
        try {
            SiteHooks.exit(token);
        } catch (StackOverflowError full) {
            // Nobody must hear of it.
        }
    }

    /** Is site() on a stack that is full whenever a call is over. */
    static void full() {
        long token = SiteHooks.enter(Template.methodId());
        try {
            Template.target();
        } catch (Throwable t) {
            try {
                SiteHooks.overflow(token);
            } catch (StackOverflowError full) {
                // What was thrown goes on.
            }
            throw t;
        }
        try {
            SiteHooks.overflow(token);
        } catch (StackOverflowError full) {
            // Nobody must hear of it.
        }
    }

    /** Branches before its target and behind it, and has variables that live across. */
    static void tangled() {
        String how = SiteHooks.odd() ? "odd" : "even";
        for (int i = 0; i < 2; i++) {
            SiteHooks.see(how + i);
        }
        long token = SiteHooks.enter(Template.methodId());
        try {
            Template.target();
        } catch (Throwable t) {
            SiteHooks.fail(token, Template.methodId());
            throw t;
        }
        if (SiteHooks.odd()) {
            SiteHooks.see(how);
            SiteHooks.exit(token);
            return;
        }
        while (!SiteHooks.odd()) {
            SiteHooks.see(how);
        }
        SiteHooks.exit(token);
    }

    static void asksForResult() {
        Template.target();
        SiteHooks.see(Template.result());
    }

    static void neverReturns() {
        Template.target();
        throw new IllegalStateException();
    }

    private static boolean odd;

    public static synchronized boolean odd() {
        odd = !odd;
        return odd;
    }

    public static void see(Object o) {
    }

    public static long enter(int id) {
        long[] stack = STACK.get();
        long depth = ++stack[0];
        stack[(int) depth] = id;
        count(id)[0]++;
        return depth << 32 | id & 0xffffffffL;
    }

    public static void exit(long token) {
        leave(token, (int) token);
        count((int) token)[1]++;
    }

    public static void fail(long token, int id) {
        leave(token, id);
        count(id)[2]++;
    }

    public static void overflow(long token) {
        exit(token);
        throw new StackOverflowError();
    }

    private static synchronized void leave(long token, int id) {
        long[] stack = STACK.get();
        if (stack[0] != token >>> 32 || (int) stack[(int) stack[0]] != id || (int) token != id) {
            wrong++;
        }
        stack[0] = (token >>> 32) - 1;
    }

    private static synchronized long[] count(int id) {
        long[] counts = COUNTS.get(id);
        if (counts == null) {
            counts = new long[3];
            COUNTS.put(id, counts);
        }
        return counts;
    }

    /** Prints what was counted: per call, how often it was entered, left and thrown out of. */
    public static synchronized void tell() {
        System.out.println("| wrong " + wrong + " open " + STACK.get()[0]);
        for (java.util.Map.Entry<Integer, long[]> e : COUNTS.entrySet()) {
            System.out.println("| " + e.getKey() + " " + e.getValue()[0] + " " + e.getValue()[1] + " " + e.getValue()[2]);
        }
    }
}
